package web

import (
	"fmt"
	"strings"
	"testing"

	"tenure/api"
)

// Who may see tokens learns when they were last used, as all members tell it.
func TestUsesOfTokens(t *testing.T) {
	g := newGuarded(t)
	g.made("app", `key_prefix "" { policy = "write" }`)
	const id = "99999999-0000-4000-8000-00000000AAbb"
	var got api.TokenUses
	g.as(root).decoded("POST", api.PathACLUses, `["`+id+`"]`, &got)
	if len(got.Uses) != 1 || got.Uses[0].Accessor != strings.ToLower(id) || got.Uses[0].Node != 2 ||
		got.Uses[0].LastUsed.Unix() != 1_790_000_000 || fmt.Sprint(got.Silent) != "[3]" {
		t.Errorf("%+v", got)
	}
	g.wants("POST", api.PathACLUses, `[]`, 200, `"silent":[3]`)
	g.wants("POST", api.PathACLUses, `["app"]`, 400, "not the AccessorID")
	many := strings.Repeat(`"`+id+`",`, api.MaxTokenUses)
	g.wants("POST", api.PathACLUses, "["+many+`"`+id+`"]`, 413, fmt.Sprint("at most ", api.MaxTokenUses))
	g.wants("POST", api.PathACLUses, "["+strings.TrimSuffix(many, ",")+"]", 200, `"node":2`)
	g.as("app").wants("POST", api.PathACLUses, `["`+id+`"]`, 403, "'acl:read'")
	g.as("").wants("POST", api.PathACLUses, `["`+id+`"]`, 403, "'acl:read'")
}
