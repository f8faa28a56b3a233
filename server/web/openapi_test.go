package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenure/api"
)

type apiOperation struct {
	OperationID string
	Summary     string
	Tags        []string
	Parameters  []map[string]any
	RequestBody map[string]any
	Responses   map[string]map[string]any
}

type apiDocument struct {
	OpenAPI    string
	Paths      map[string]map[string]apiOperation
	Components map[string]map[string]map[string]any
}

func readAPI(t *testing.T) (doc apiDocument, raw any) {
	t.Helper()
	w := call(newServer(t, newFake(t)), "GET", "/v1/openapi.json", "")
	if w.Code != 200 || head(w, "Content-Type") != "application/json" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	for _, into := range []any{&doc, &raw} {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	return doc, raw
}

// rulesOf are the query names of each operation, as the handlers parse them.
var rulesOf = map[string]*rules{
	"kvGet": &readRules, "kvPut": &putRules, "kvDelete": &deleteRules, "kvPost": &postRules, "txn": &txnRules,
	"sessionCreate": &consulWriteRules, "sessionDestroy": &consulWriteRules, "sessionRenew": &consulWriteRules,
	"sessionInfo": &sessionRules, "sessionNode": &sessionRules, "sessionList": &sessionRules,
	"aclBootstrap": &consulWriteRules, "aclTokenSelf": &tokenReadRules, "aclTokenRead": &tokenReadRules,
	"aclTokenCreate": &consulWriteRules, "aclTokenUpdate": &aclChangeRules, "aclTokenDelete": &aclChangeRules,
	"aclTokenClone": &consulWriteRules, "aclTokenList": &tokenListRules, "aclPolicyCreate": &consulWriteRules,
	"aclPolicyRead": &consulRules, "aclPolicyUpdate": &aclChangeRules, "aclPolicyDelete": &aclChangeRules,
	"aclPolicyReadByName": &consulRules, "aclPolicyList": &consulRules, "aclAuthorize": &consulRules, "aclUses": &plainRules,
	"fenceGet": &fenceReadRules, "fenceDrop": &fenceDropRules, "quotasList": &quotaReadRules, "quotaGet": &quotaReadRules, "quotaPut": &plainWriteRules, "quotaDrop": &plainWriteRules, "watch": &watchRules,
	"status": &plainRules, "history": &plainRules, "reports": &plainRules, "statusLeader": &consulRules, "statusPeers": &consulRules, "agentSelf": &consulRules, "openAPI": &plainRules,
	"leaseShow": &plainRules, "leaseAcquire": &plainWriteRules, "leaseRenew": &plainWriteRules, "leaseRelease": &plainWriteRules,
	"leasesRenew": &plainWriteRules, "leasesList": &leasesRules, "masterTransfer": &plainWriteRules, "membersList": &plainRules, "backup": &plainRules, "upgrade": &plainRules, "upgradeFinish": &plainWriteRules, "snapshotGet": &snapshotRules, "snapshotPut": &consulWriteRules, "membersAdd": &plainWriteRules, "membersRemove": &plainWriteRules,
	"membersReplace": &plainWriteRules, "membersPromote": &plainWriteRules, "membersUpdate": &plainWriteRules,
	"membersReadmit": &plainWriteRules, "membersCancel": &plainWriteRules, "membersDrain": &plainWriteRules,
	"catalogNodes": &consulRules, "raftConfiguration": &consulRules, "autopilotHealth": &consulRules, "healthLive": &probeRules, "healthReady": &probeRules, "metrics": &probeRules,
}

// Every route and method is described, and nothing else.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	doc, _ := readAPI(t)
	var documented, routed []string
	for path, methods := range doc.Paths {
		for method := range methods {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	for _, e := range described(newServer(t, newFake(t))) {
		for method := range e.handlers {
			routed = append(routed, method+" "+e.path)
		}
	}
	slices.Sort(documented)
	slices.Sort(routed)
	if !slices.Equal(documented, routed) {
		t.Errorf("described\n%s\nrouted\n%s", strings.Join(documented, "\n"), strings.Join(routed, "\n"))
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Error(doc.OpenAPI)
	}
}

// Every operation names the query names that its handler takes, its path's name, and what it may answer.
func TestOpenAPIOperations(t *testing.T) {
	doc, _ := readAPI(t)
	seen := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			at := method + " " + path
			r, known := rulesOf[op.OperationID]
			if !known || seen[op.OperationID] || op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s: operation %q", at, op.OperationID)
			}
			seen[op.OperationID] = true
			in := map[string][]string{}
			for _, p := range op.Parameters {
				p = deref(t, doc, p)
				in[p["in"].(string)] = append(in[p["in"].(string)], p["name"].(string))
			}
			var want []string
			for i, text := range nameTexts {
				if r != nil && r.known&(1<<i) != 0 {
					want = append(want, text)
				}
			}
			slices.Sort(want)
			got := slices.Sorted(slices.Values(in["query"]))
			if !slices.Equal(got, want) {
				t.Errorf("%s: query names %q, its handler takes %q", at, got, want)
			}
			_, name, named := strings.Cut(path, "{")
			name, _, _ = strings.Cut(name, "}")
			if named != (len(in["path"]) == 1) || named && in["path"][0] != name {
				t.Errorf("%s: names %q in the path", at, in["path"])
			}
			if op.Responses["200"] == nil || (method == "get" && op.RequestBody != nil) {
				t.Errorf("%s: answers %v", at, slices.Collect(maps.Keys(op.Responses)))
			}
		}
	}
	for id := range rulesOf {
		if !seen[id] {
			t.Errorf("operation %s is not described", id)
		}
	}
}

// TestOpenAPIHasTheMembersOfBodies: a request about members has the members of its body that the path takes.
func TestOpenAPIHasTheMembersOfBodies(t *testing.T) {
	doc, _ := readAPI(t)
	server := newServer(t, newFake(t))
	values := map[string]string{"operation": `"x"`, "dry_run": "true", "node": "7", "by": "8", "name": `"n"`,
		"peer_address": `"h:1"`, "client_address": `"h:2"`, "store": `"00"`, "non_voter": "true", "force_quorum_loss": "1",
		"differs": "true", "off": "true", "force": "true"}
	if n := reflect.TypeFor[api.MemberRequest]().NumField(); n != len(values) {
		t.Fatalf("a request has %d members, and %d are tried", n, len(values))
	}
	for path, methods := range doc.Paths {
		op, ok := methods["post"]
		if !ok || !strings.HasPrefix(path, api.PathMembers+"/") {
			continue
		}
		described := op.RequestBody["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)["properties"].(map[string]any)
		for name, value := range values {
			w := call(server, "POST", path, fmt.Sprintf("{%q:%s}", name, value))
			refused := strings.Contains(w.Body.String(), " takes no "+name+",")
			if _, is := described[name]; is == refused {
				t.Errorf("%s: %s is described: %t; the answer is %d %s", path, name, is, w.Code, w.Body)
			}
		}
	}
}

func deref(t *testing.T, doc apiDocument, p map[string]any) map[string]any {
	t.Helper()
	ref, ok := p["$ref"].(string)
	if !ok {
		return p
	}
	parts := strings.Split(ref, "/")
	if len(parts) != 4 || doc.Components[parts[2]][parts[3]] == nil {
		t.Fatalf("%s leads nowhere", ref)
	}
	return doc.Components[parts[2]][parts[3]]
}

// Every reference leads somewhere, and every component is referred to.
func TestOpenAPIReferences(t *testing.T) {
	doc, raw := readAPI(t)
	used := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[ref] = true
				deref(t, doc, v)
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(raw)
	for kind, list := range doc.Components {
		for name := range list {
			if ref := fmt.Sprintf("#/components/%s/%s", kind, name); !used[ref] {
				t.Errorf("nothing refers to %s", ref)
			}
		}
	}
}

// The words that clients may send in bodies are those that are described.
func TestOpenAPIWords(t *testing.T) {
	doc, _ := readAPI(t)
	words := func(v any, path ...string) []string {
		for _, p := range path {
			v = v.(map[string]any)[p]
		}
		var out []string
		for _, w := range v.([]any) {
			out = append(out, w.(string))
		}
		slices.Sort(out)
		return out
	}
	op := words(doc.Components["schemas"]["Post"], "properties", "Op", "enum")
	if want := slices.Sorted(maps.Keys(posts)); !slices.Equal(op, want) {
		t.Errorf("Op is one of %q, should be of %q", op, want)
	}
	verb := words(doc.Components["schemas"]["TxnOp"], "properties", "KV", "properties", "Verb", "enum")
	if want := verbTexts(); !slices.Equal(verb, want) {
		t.Errorf("Verb is one of %q, should be of %q", verb, want)
	}
}

// Every answer that is not a success is described with its code, and the codes are those of package api.
func TestOpenAPICodes(t *testing.T) {
	doc, _ := readAPI(t)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for status, answer := range op.Responses {
				headers, _ := deref(t, doc, answer)["headers"].(map[string]any)
				if status != "200" && (headers[api.HeaderError] == nil || headers[api.HeaderNode] == nil) {
					t.Errorf("%s %s: the answer %s has no %s and %s", method, path, status, api.HeaderError, api.HeaderNode)
				}
			}
		}
	}
	var codes []api.Code
	for _, c := range doc.Components["headers"][api.HeaderError]["schema"].(map[string]any)["enum"].([]any) {
		codes = append(codes, api.Code(c.(string)))
	}
	if !slices.Equal(codes, api.Codes()) {
		t.Errorf("the codes are %q, described are %q", api.Codes(), codes)
	}
}
