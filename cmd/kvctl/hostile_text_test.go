package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"tenure/api"
)

// hostileText is text of a stranger: an escape sequence in two spellings, what changes the direction of text, and what
// nobody sees.
const hostileText = "x\x1b]0;OWNED\a\u009b2J\u202eevil\u2066\u200b\u3164\x7f\r"

// hostileNode answers everything with hostile text in all places that strangers can fill.
func hostileNode(t *testing.T) string {
	const id = "0bd2a6fc-5b6b-4b0c-8c5f-5a4f0a4e6c11"
	soon := time.Now().Add(time.Hour)
	entry := api.Entry{Key: hostileText, Value: []byte(hostileText), Session: hostileText, CreateIndex: 3, ModifyIndex: 4}
	session := api.Session{ID: id, Name: hostileText, Node: hostileText, TTL: "10s", Behavior: "release"}
	link := api.ACLLink{ID: id, Name: hostileText}
	token := api.Token{AccessorID: id, SecretID: hostileText, Name: hostileText, Description: hostileText,
		Policies: []api.ACLLink{link}, Certificate: hostileText, ExpirationTime: &soon}
	policy := api.Policy{ID: id, Name: hostileText, Description: hostileText, Rules: "# " + hostileText}
	member := api.Member{Node: 1, Name: hostileText, Voter: true, PeerAddress: hostileText, ClientAddress: hostileText,
		Store: hostileText, Connected: true}
	operation := api.MemberOperation{ID: hostileText, Kind: "add", Name: hostileText, State: "waiting", Step: hostileText,
		Problem: hostileText}
	answers := map[string]any{
		api.PathKV:          []api.Entry{entry},
		api.PathSessionList: []api.Session{session},
		api.PathSessionInfo: []api.Session{session},
		api.PathQuotas:      api.QuotaList{Quotas: []api.Quota{{Prefix: hostileText, Bytes: 1, Counting: true}}},
		api.PathLeases: api.LeasePage{Leases: []api.LeaseEntry{{Name: hostileText, Owner: hostileText, Token: 1, Remaining: "5s"}},
			Next: hostileText},
		api.PathLease:         api.LeaseHint{Name: "l", Owner: hostileText, Token: 1, Remaining: "5s"},
		api.PathACLTokenList:  []api.TokenListEntry{{AccessorID: id, Name: hostileText, Description: hostileText}},
		api.PathACLTokens:     token,
		api.PathACLPolicyList: []api.PolicyListEntry{{ID: id, Name: hostileText, Description: hostileText}},
		api.PathACLPolicies:   policy,
		api.PathStatus: api.Status{Cluster: "c", Node: 1, Name: hostileText, Version: hostileText, Role: hostileText, Master: 1,
			Promised: hostileText, Problem: hostileText},
		api.PathMembers: api.MemberList{Cluster: "c", Node: 1, Master: 1, Members: []api.Member{member}, Removed: []string{hostileText},
			Operations: []api.MemberOperation{operation}},
		api.PathUpgrade: api.Upgrade{Members: []api.MemberLevel{{Node: 1, Name: hostileText}}, Blocked: hostileText},
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{api.HeaderIndex, api.HeaderRevision} {
			w.Header().Set(name, "7")
		}
		best, path := "", r.URL.Path
		for known := range answers {
			if strings.HasPrefix(path, known) && len(known) > len(best) {
				best = known
			}
		}
		switch {
		case r.Method != http.MethodGet || best == "":
			w.Header().Set(api.HeaderError, string(api.CodeInvalid))
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "refused: "+hostileText+"\n"+hostileText)
		case r.URL.Query().Has(api.QueryKeys):
			_ = json.NewEncoder(w).Encode([]string{hostileText})
		default:
			_ = json.NewEncoder(w).Encode(answers[best])
		}
	}))
	t.Cleanup(node.Close)
	return node.URL
}

// obeyed returns what of a text a terminal would obey or not show, besides line ends and tabs.
func obeyed(text string) (out []rune) {
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Bidi_Control,
			unicode.Other_Default_Ignorable_Code_Point)) {
			out = append(out, r)
		}
	}
	return out
}

// Whatever a node answers, nothing of it reaches the terminal that it would obey, on either output, as text or JSON.
func TestNothingOfAStrangerIsObeyed(t *testing.T) {
	environ := []string{endpointsVariable + "=" + hostileNode(t)}
	const arg = hostileText
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, line := range []string{"list", "list --values", "get --prefix x", "count", "watch k --limit 1 --timeout 300ms",
		"session list", "session info ID", "lease list", "lease show l", "quota list", "quota show ARG", "acl token list", "acl token read ID",
		"acl token read --self", "acl policy list", "acl policy read ID", "status", "status --watch --for 400ms --interval 200ms",
		"member list", "upgrade", "master show", "set k v", "set ARG v", "delete ARG", "rename ARG ARG", "txn - ", "member remove ARG",
		"member remove ARG --dry-run", "member add ARG --dry-run", "member readmit ARG", "lease acquire ARG --owner ARG", "lease release ARG --owner o --grant ARG",
		"elect ARG", "elect l --listen --timeout 300ms", "ARG", "get --ARG", "--endpoints ARG get k", "get k --timeout ARG", "session renew ARG",
		"acl token delete ARG", "acl policy delete ARG", "quota set ARG --bytes 1", "quota delete ARG", "lock ARG -- true", "drain ARG", "import ARG",
		"backup verify ARG", "ca init ARG --cluster ARG", "export --out ARG ARG", "expire ARG 1h", "cas ARG 1 v", "test-and-set ARG a b",
		"add ARG 1", "remove ARG", "prune ARG --timeout 300ms", "lease run ARG -- true", "dev status --data ARG", "get -p ARG"} {
		for _, format := range []string{"", "--json"} {
			args := strings.Fields(strings.TrimSpace(format + " " + line))
			for i := range args {
				args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "ARG", arg), "ID", "0bd2a6fc-5b6b-4b0c-8c5f-5a4f0a4e6c11")
			}
			all.Go(func() {
				var out, errOut bytes.Buffer
				run(ctx, args, environ, strings.NewReader("set k v\n"), &out, &errOut)
				for name, text := range map[string]string{"output": out.String(), "error output": errOut.String()} {
					if bad := obeyed(text); len(bad) > 0 {
						t.Errorf("kvctl %s %s: the %s has %U: %.300q", format, line, name, bad[:1], text)
					}
					for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
						if format != "" && l != "" && !json.Valid([]byte(l)) {
							t.Errorf("kvctl %s %s: the %s is not JSON: %q", format, line, name, l)
						}
					}
				}
			})
		}
	}
	all.Wait()
}

// A command to copy has a name or an address as one word, whatever stands in it.
func TestCommandsToCopyAreQuoted(t *testing.T) {
	m := &memberAdd{}
	m.change.Name, m.change.PeerAddress = "$(id)", "a;id:1"
	if got, want := m.command("kvnode"), "kvnode --node-name '$(id)' --peer 'a;id:1' --client HOST:PORT"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
