package web

import (
	"strings"
	"testing"

	"tenure/api"
)

// A client asks what its token may do, and learns nothing of what others may.
func TestAuthorize(t *testing.T) {
	g := newGuarded(t)
	g.made("app", `key_prefix "app/" { policy = "write" } key "app/x" { policy = "read" } session_prefix "" { policy = "read" }`)
	const body = `[{"Resource":"key","Access":"write","Segment":"app/a"},{"Resource":"key","Access":"write","Segment":"app/x"},
		{"Resource":"session","Access":"write","Segment":"n1"},{"Resource":"key","Access":"list","Segment":"app/"},
		{"Resource":"acl","Access":"read"}]`
	for who, want := range map[string]string{
		root: "true true true true true", "app": "true false false true false", "": "false false false false false",
	} {
		var answers []api.ACLAnswer
		g.as(who).decoded("POST", api.PathACLAuthorize, body, &answers)
		var got []string
		for _, a := range answers {
			got = append(got, map[bool]string{true: "true", false: "false"}[a.Allow])
		}
		if strings.Join(got, " ") != want || answers[1].Segment != "app/x" {
			t.Errorf("%q: %+v, want %s", who, answers, want)
		}
	}
	g.as("unknown").wants("POST", api.PathACLAuthorize, body, 403, api.TextUnknownToken)
	g.as(root).wants("POST", api.PathACLAuthorize, `[{"Resource":"key","Access":"deny"}]`, 400, "no access to key")
	g.wants("POST", api.PathACLAuthorize, `[{"Resource":"keys","Access":"read"}]`, 400, "none of key")
	g.wants("POST", api.PathACLAuthorize, "["+strings.Repeat("{},", api.MaxACLQuestions)+"{}]", 413, "too many")
	g.wants("POST", api.PathACLAuthorize, "[]", 200, "[]")
	// No name is so long. It would come back with six bytes for each of its own.
	long := strings.Repeat("<", api.MaxKeyBytes)
	g.as("").wants("POST", api.PathACLAuthorize, `[{"Resource":"key","Access":"read","Segment":"`+long+`"}]`, 200, "Allow")
	g.wants("POST", api.PathACLAuthorize, `[{"Resource":"key","Access":"read","Segment":"`+long+`<"}]`, 400, "at most 1024")
	s := newServer(t, newFake(t))
	if w := call(s, "POST", api.PathACLAuthorize, "[]"); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
