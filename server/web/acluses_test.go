package web

import (
	"fmt"
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
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

// A token that is deleted while the members are asked learns nothing any more.
func TestUsesOfTokensAreDecidedAgain(t *testing.T) {
	g := newGuarded(t)
	app := g.made("app", `acl = "read"`)
	const body = `["99999999-0000-4000-8000-00000000aabb"]`
	g.as("app").wants("POST", api.PathACLUses, body, 200, `"node":2`)
	g.fake.whileAsked = func() { g.fake.apply(t, kv.DropToken(app)) }
	if w := g.call("POST", api.PathACLUses, body); !denied(w) || strings.Contains(w.Body.String(), "node") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestUsesOfTokensWhileManyAsk(t *testing.T) {
	g := newGuarded(t)
	g.fake.usesErr = fmt.Errorf("%w: many", service.ErrOverloaded)
	g.as(root).wants("POST", api.PathACLUses, `[]`, 503, "many")
}
