package web

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tenure/api"
)

// other is the secret of a first token that is made again.
const other = "00000000-0000-4000-8000-0000000000ee"

func TestBootstrapOnceAndAgain(t *testing.T) {
	g := newGuarded(t)
	w := g.call("PUT", "/v1/acl/bootstrap", "")
	index := g.state.ACL().Bootstrap()
	if w.Code != 403 || !strings.Contains(w.Body.String(),
		fmt.Sprintf("Permission denied: ACL bootstrap no longer allowed (reset index: %d)", index)) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	ours := `{"BootstrapSecret":"` + other + `"}`
	for content, status := range map[string]int{
		"nonsense": 400, fmt.Sprint(index): 400, fmt.Sprint(index+1, " ", other): 403,
	} {
		g.allowReset(content)
		g.wants("PUT", "/v1/acl/bootstrap", ours, status, "")
	}
	g.allowReset(fmt.Sprintln(index, other))
	// A stranger who asks all the time, with and without a secret of his own, gets nothing.
	for _, body := range []string{"", `{}`, `{"BootstrapSecret":"00000000-0000-4000-8000-0000000000dd"}`} {
		g.wants("PUT", "/v1/acl/bootstrap", body, 403, "reset index")
	}
	var made, again api.Token
	g.decoded("PUT", "/v1/acl/bootstrap", ours, &made)
	if _, err := os.Stat(g.reset); err == nil || made.SecretID != other || made.Policies[0].Name != api.ManagementPolicyName {
		t.Errorf("%+v, %v", made, err)
	}
	g.as(other).wants("PUT", "/v1/kv/k", "v", 200, "true")
	g.as("").wants("PUT", "/v1/acl/bootstrap", "", 403, "reset index")
	// Who did not get the answer asks again, and gets it.
	g.decoded("PUT", "/v1/acl/bootstrap", ours, &again)
	if again.AccessorID != made.AccessorID || again.SecretID != other {
		t.Errorf("%+v", again)
	}
}

func (g *guarded) allowReset(content string) {
	g.t.Helper()
	if err := os.WriteFile(g.reset, []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// Anybody may request a bootstrap. After the first one, requests write nothing to the log, with any idempotency key.
func TestARefusedBootstrapIsNoCommand(t *testing.T) {
	g := newGuarded(t)
	slot, rounds := g.slot, g.rounds.Load()
	for i := range 10 {
		w := g.call("PUT", "/v1/acl/bootstrap", "", fmt.Sprint(api.HeaderIdempotencyKey, ": k", i))
		if w.Code != 403 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	g.wants("PUT", "/v1/acl/bootstrap", `{"BootstrapSecret":"`+root+`"}`, 200, root) // a retry of the first one
	if g.slot != slot || g.rounds.Load() != rounds {
		t.Errorf("%d commands and %d rounds", g.slot-slot, g.rounds.Load()-rounds)
	}
	g.as(root).wants("PUT", "/v1/kv/k", "v", 200, "true")
}
