package web

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/kv"
)

func TestNamesAndTheirTextsAgree(t *testing.T) {
	for text, n := range map[string]names{"raw": nRaw, "reverse": nReverse, "stale": nStale, "index": nIndex, "cas": nCas,
		"fence": nFence, "prefix": nPrefix, "dc": nDC, "pretty": nPretty, "ns": nNS, "nothing": 0, "": 0} {
		if nameOf(text) != n {
			t.Errorf("%q is %b, want %b", text, nameOf(text), n)
		}
	}
	for n, want := range map[names]string{0: "", nCas: "`cas`", nCas | nTTL: "`cas` or `ttl`"} {
		if got := n.list("or"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (nCas | nAcquire | nFlags).list("and"); got != "`cas`, `flags` and `acquire`" {
		t.Error(got)
	}
}

func TestParseQuery(t *testing.T) {
	for _, c := range []struct {
		raw   string
		rules *rules
		want  query
	}{
		{"", &readRules, query{}},
		{"raw", &readRules, query{seen: nRaw}},
		{"&&raw=&", &readRules, query{seen: nRaw}},
		{"recurse=true&stale=1", &readRules, query{seen: nRecurse | nStale}},
		{"%72aw", &readRules, query{seen: nRaw}},
		{"keys&separator=%2F&start=a%2Fb+c&limit=10&reverse", &readRules,
			query{seen: nKeys | nSeparator | nStart | nLimit | nReverse, separator: "/", start: "a/b c", limit: 10}},
		{"keys&separator=;", &readRules, query{seen: nKeys | nSeparator, separator: ";"}},
		{"wait=5m&stale&consistent=&hash=%zz&cached&near=_agent&relay-factor=3", &putRules, query{}}, // of Consul's clients: see foreign.go
		{"partition=default&peer=&sg=&sameness-group&filter=", &deleteRules, query{}},
		{"index=7&wait=5s&stale&hash=x", &consulRules, query{}},
		{"partition=&hash=5&cached&near=x", &readRules, query{}},
		{"index=0&wait=5m", &readRules, query{seen: nIndex | nWait, duration: 5 * time.Minute}},
		{"cas=18446744073709551615&flags=42", &putRules, query{seen: nCas | nFlags, cas: 1<<64 - 1, flags: 42}},
		{"ttl=100ms", &putRules, query{seen: nTTL, duration: api.MinKeyTTL}},
		{"ttl=" + kv.MaxTTL.String(), &putRules, query{seen: nTTL, duration: kv.MaxTTL}},
		{"keys&start=+a", &readRules, query{seen: nKeys | nStart, start: " a"}},
		{"keys&start=%2Ba", &readRules, query{seen: nKeys | nStart, start: "+a"}},
		// Numbers are decimal, also those that begin with 0.
		{"cas=010&flags=011", &putRules, query{seen: nCas | nFlags, cas: 10, flags: 11}},
		{"index=012", &readRules, query{seen: nIndex, index: 12}},
		{"keys&limit=013", &readRules, query{seen: nKeys | nLimit, limit: 13}},
		{"fence=kv/a:014", &putRules, query{seen: nFence, fence: "kv/a", token: 14}},
		{"dc=dc1&token=secret&pretty=x&ns=default", &putRules, query{seen: nDC | nToken | nPretty | nNS}},
		{"dc=&ns=", &deleteRules, query{seen: nDC | nNS}},
		{"recurse", &deleteRules, query{seen: nRecurse}},
		{"acquire=S", &putRules, query{seen: nAcquire, session: "S"}},
		{"ttl=1m30s&fence=kv/a:b:7", &putRules, query{seen: nTTL | nFence, duration: 90 * time.Second, fence: "kv/a:b", token: 7}},
		{"fence=lease/x:18446744073709551615", &deleteRules, query{seen: nFence, fence: "lease/x", token: 1<<64 - 1}},
		{"wait=", &readRules, query{seen: nWait}},
		{"wait=-5s", &sessionRules, query{seen: nWait, duration: -5 * time.Second}},
		{"prefix=a%2F&index=7", &watchRules, query{seen: nPrefix | nIndex, prefix: "a/", index: 7}},
	} {
		got, err := parseQuery(c.raw, c.rules)
		if err != nil {
			t.Errorf("%s %q: %v", c.rules.what, c.raw, err)
		}
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(query{})); d != "" {
			t.Errorf("%s %q: %s", c.rules.what, c.raw, d)
		}
	}
}

// A name that counts by being there is not turned off by a value.
func TestSwitchesTakeNoValue(t *testing.T) {
	for name, rules := range map[string]*rules{"raw": &readRules, "recurse": &readRules, "keys": &readRules, "count": &readRules,
		"reverse": &readRules, "stale": &readRules, "consistent": &readRules, "details": &sessionRules} {
		for _, value := range []string{"false", "0", "7", "no"} {
			raw := name + "=" + value
			_, err := parseQuery(raw, rules)
			if status, code := codeOf(err); status != 400 || code != api.CodeInvalid {
				t.Errorf("%q: %v", raw, err)
			}
		}
	}
}

// FuzzQuery holds our parser against net/url's: what it accepts it understands alike, and it never panics.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"raw", "keys&separator=%2f&start=a+b&limit=3&reverse", "cas=1&flags=2", "recurse&cas=0", "a=%", "%6beys", "=&&=;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, r := range []*rules{&readRules, &putRules, &deleteRules, &plainRules, &plainWriteRules,
			&postRules, &txnRules, &sessionRules, &watchRules, &fenceReadRules, &consulRules, &consulWriteRules, &probeRules} {
			q, err := parseQuery(raw, r)
			if err != nil {
				if !isCoded(err) {
					t.Fatalf("%q: %T", raw, err)
				}
				continue
			}
			if strings.Contains(raw, ";") {
				continue // net/url drops such pairs
			}
			values, _ := url.ParseQuery(raw)
			for i, text := range nameTexts {
				n := names(1) << i
				if got := q.has(n); got != (values.Has(text) && r.known&n != 0) {
					t.Fatalf("%s %q: %s is %v", r.what, raw, text, got)
				}
			}
			if q.has(nStart) && r != &watchRules && q.start != values.Get("start") || q.has(nSeparator) && q.separator != values.Get("separator") {
				t.Fatalf("%q: %+v", raw, q)
			}
			for name := range values {
				foreign := r.consul && slices.ContainsFunc(foreignNames, func(f foreignName) bool { return f.name == name })
				if nameOf(name)&r.known == 0 && !foreign {
					t.Fatalf("%s %q: accepted %q", r.what, raw, name)
				}
			}
		}
	})
}
