package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/audit"
)

// both is a node that answers HTTP and the Redis protocol, with tokens and an audit log.
type both struct {
	*host
	root, app, operator string // secrets
	marks, read         int    // of the audit log: keys that end what was asked for, and bytes
}

func startBoth(t *testing.T, changes ...func(*Config)) *both {
	t.Helper()
	log := audit.Config{Path: filepath.Join(t.TempDir(), "audit"), FileBytes: 1 << 24, DeniedEach: 1 << 20}
	changes = append(changes, func(c *Config) {
		c.ACL, c.RedisAddr, c.Audit, c.MaxValueBytes = true, freeAddr(t), log, 4<<10
	})
	b := &both{host: startCluster(t, 1, changes...)[0]}
	b.until(t, "at the newest feature level", func() bool { return b.status(t).FeatureLevel == kv.NewestLevel })
	b.root = made[api.Token](t, b.host, "", "/v1/acl/bootstrap", "").SecretID
	for _, policy := range []string{`{"Name":"app","Rules":"key_prefix \"app/\" { policy = \"write\" }"}`,
		`{"Name":"ops","Rules":"operator = \"read\""}`} {
		made[api.Policy](t, b.host, b.root, "/v1/acl/policy", policy)
	}
	token := func(policies string) string {
		return made[api.Token](t, b.host, b.root, "/v1/acl/token", `{"Policies":[`+policies+`]}`).SecretID
	}
	b.app, b.operator = token(`{"Name":"app"}`), token(`{"Name":"app"},{"Name":"ops"}`)
	return b
}

// http returns the status and the text of an answer to a request with the token of a secret.
func (b *both) http(secret, line, body string) string {
	method, path, _ := strings.Cut(line, " ")
	status, text := b.with(secret, method, path, body)
	return fmt.Sprint(status, " ", text)
}

// redis returns the first line of the reply to a command, given as arguments, of a connection with that token.
func (b *both) redis(t *testing.T, secret string, args ...string) string {
	t.Helper()
	c := dialRedis(t, b.host)
	if got := c.do("AUTH " + secret); got != "+OK" {
		t.Fatal(got)
	}
	return c.do(command(args...))
}

// command returns a command as clients send it, without the end of its line.
func command(args ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	return strings.TrimSuffix(text, "\r\n")
}

// lines returns the lines of the audit log since the last call, without those about tokens.
func (b *both) lines(t *testing.T) (list []audit.Record) {
	t.Helper()
	b.marks++
	mark := fmt.Sprint("mark/", b.marks)
	if got := b.http(b.root, "PUT /v1/kv/"+mark, ""); got != "200 true" {
		t.Fatal(got)
	}
	b.until(t, "written down", func() bool {
		all, err := os.ReadFile(b.cfg.Audit.Path)
		if err != nil {
			t.Fatal(err)
		}
		list = nil
		for line := range strings.Lines(string(all[b.read:])) {
			var r audit.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				return false // it is being written
			}
			if slices.Equal(r.Keys, []string{mark}) {
				b.read = len(all)
				return true
			}
			if !strings.HasPrefix(r.Act, "acl.") {
				list = append(list, r)
			}
		}
		return false
	})
	return list
}

// manyKeys returns the names of n keys below a prefix.
func manyKeys(prefix string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("%skey-with-a-longer-name-%04d", prefix, i))
	}
	return keys
}

// setAll returns the body of a transaction, and the arguments of an MSET, that write keys.
func setAll(keys []string) (body string, args []string) {
	var ops []string
	args = []string{"MSET"}
	for _, k := range keys {
		ops = append(ops, fmt.Sprintf(`{"KV":{"Verb":"set","Key":%q,"Value":"MQ=="}}`, k))
		args = append(args, k, "1")
	}
	return "[" + strings.Join(ops, ",") + "]", args
}

// guardCase is a request that both protocols answer alike.
type guardCase struct {
	name   string
	secret string
	http   string   // the line, and behind a line end the body
	status string   // how the answer begins, as a pattern
	redis  []string // the command
	reply  string   // how the reply begins, likewise
	hidden bool     // neither tells how much others use of a quota
	record *guardRecord
}

// guardRecord is what the line of the audit log has, whichever way the request came.
type guardRecord struct {
	outcome audit.Outcome
	code    api.Code // empty: the protocols say it in different ways
	keys    int
	more    bool // there are others
	fence   string
}

// The quota of app/full/ has these bytes, and others use nearly all of them.
const (
	guardQuota   = 2000
	usageOfOther = "19[0-9][0-9]" // as a pattern
)

func (b *both) guardCases() []guardCase {
	most := strings.Repeat("x", b.cfg.MaxValueBytes)
	body := strings.Repeat("x", 500)
	writeFew, msetFew := setAll(manyKeys("app/", 100))
	writeDenied, msetDenied := setAll(append(manyKeys("app/", 30), manyKeys("theirs/", 90)...))
	twoFaults := `[{"KV":{"Verb":"set","Key":"app/full/mine","Value":"` + strings.Repeat("MTEx", 170) + `"}},` +
		`{"KV":{"Verb":"check-index","Key":"app/k","Index":1}}]`
	long := "app/" + strings.Repeat("k", api.MaxKeyBytes)
	denied := guardRecord{outcome: audit.Denied, code: api.CodeDenied, keys: 1}
	noSpace := guardRecord{outcome: audit.NotApplied, code: api.CodeNoSpace, keys: 1}
	return []guardCase{
		{name: "a write that is denied", secret: b.app, record: &denied,
			http: "PUT /v1/kv/theirs/k\nv", status: "403 Permission denied",
			redis: []string{"SET", "theirs/k", "v"}, reply: "-NOPERM"},
		{name: "a read that is denied", secret: b.app,
			http: "GET /v1/kv/theirs/big", status: "403 Permission denied",
			redis: []string{"GET", "theirs/big"}, reply: "-NOPERM"},
		{name: "many keys of which some are denied", secret: b.app,
			record: &guardRecord{outcome: audit.Denied, code: api.CodeDenied, keys: 1, more: true},
			http:   "PUT /v1/txn\n" + writeDenied, status: "409 ", redis: msetDenied, reply: "-NOPERM"},
		{name: "many keys", secret: b.app, record: &guardRecord{outcome: audit.Done, keys: 100},
			http: "PUT /v1/txn\n" + writeFew, status: "200 ", redis: msetFew, reply: `\+OK`},

		{name: "over a quota", secret: b.app, record: &noSpace, hidden: true,
			http: "PUT /v1/kv/app/full/mine\n" + body, status: "507 .*quota",
			redis: []string{"SET", "app/full/mine", body}, reply: "-OOM .*quota"},
		{name: "over a quota, for an operator", secret: b.operator, record: &noSpace,
			http: "PUT /v1/kv/app/full/mine\n" + body, status: "507 .*" + usageOfOther,
			redis: []string{"SET", "app/full/mine", body}, reply: "-OOM .*" + usageOfOther},
		{name: "over a quota, among other faults", secret: b.app, hidden: true,
			record: &guardRecord{outcome: audit.NotApplied, keys: 1},
			http:   "PUT /v1/txn\n" + twoFaults, status: "409 .*quota",
			redis: []string{"MSET", "app/full/mine", body}, reply: "-OOM .*quota"},

		{name: "a fence without a token", secret: b.app,
			http: "PUT /v1/kv/app/k?fence=kv/app/f:0\nv", status: "400 .*from 1",
			redis: []string{"TENURE.FENCE", "kv/app/f:0", "SET", "app/k", "v"}, reply: "-ERR .*from 1"},
		{name: "a smaller fence", secret: b.app,
			record: &guardRecord{outcome: audit.NotApplied, code: api.CodeFenced, keys: 1, fence: "kv/app/f:3"},
			http:   "PUT /v1/kv/app/k?fence=kv/app/f:3\nv", status: "409 fenced: a larger token",
			redis: []string{"TENURE.FENCE", "kv/app/f:3", "SET", "app/k", "v"}, reply: "-FENCED a larger token"},
		{name: "a fence that is not the client's", secret: b.app,
			record: &guardRecord{outcome: audit.Denied, code: api.CodeDenied, keys: 1, fence: "kv/theirs:3"},
			http:   "PUT /v1/kv/app/k?fence=kv/theirs:3\nv", status: "403 ",
			redis: []string{"TENURE.FENCE", "kv/theirs:3", "SET", "app/k", "v"}, reply: "-NOPERM"},

		{name: "a key that is too long", secret: b.app, http: "PUT /v1/kv/" + long + "\nv", status: "400 .*1,?024",
			redis: []string{"SET", long, "v"}, reply: "-ERR .*1,?024"},
		{name: "a key that is not UTF-8", secret: b.app, http: "PUT /v1/kv/app/%ff\nv", status: "400 .*UTF-8",
			redis: []string{"SET", "app/\xff", "v"}, reply: "-ERR .*UTF-8"},
		{name: "a value that is too large", secret: b.app, http: "PUT /v1/kv/app/k\nx" + most, status: "413 .*too large",
			redis: []string{"SET", "app/k", "x" + most}, reply: "-ERR "},
	}
}

// Both protocols protect the store alike, and tell the same of a refusal. Each row is one case, with the answer of either.
func TestBothProtocolsGuardAlike(t *testing.T) {
	b := startBoth(t)
	for _, got := range []string{
		b.http(b.root, "PUT /v1/kv/theirs/big", "v"),
		b.http(b.root, "PUT /v1/quota/app/full/", fmt.Sprintf(`{"bytes":%d}`, guardQuota)),
		b.http(b.root, "PUT /v1/kv/app/full/theirs", strings.Repeat("x", guardQuota-100)),
		b.http(b.root, "PUT /v1/kv/app/lock?fence=kv/app/f:7", "v"),
		b.http(b.root, "PUT /v1/kv/app/k", "v"),
	} {
		if got != "200 true" {
			t.Fatal(got)
		}
	}
	b.lines(t)
	for _, c := range b.guardCases() {
		t.Run(c.name, func(t *testing.T) {
			line, body, _ := strings.Cut(c.http, "\n")
			c.check(t, "HTTP", b.http(c.secret, line, body), c.status)
			c.check(t, "Redis", b.redis(t, c.secret, c.redis...), c.reply)
			if lines := b.lines(t); c.record != nil {
				c.record.check(t, lines)
			}
		})
	}
}

// check checks the answer of one protocol.
func (c *guardCase) check(t *testing.T, protocol, got, want string) {
	t.Helper()
	if !regexp.MustCompile("^(?s:" + want + ")").MatchString(got) {
		t.Errorf("%s: %.300q, want %q", protocol, got, want)
	}
	if c.hidden && regexp.MustCompile(fmt.Sprint(usageOfOther, "|", guardQuota)).MatchString(got) {
		t.Errorf("%s tells others' usage: %.300q", protocol, got)
	}
}

// check checks the lines of a request over HTTP and one over the Redis protocol.
func (want *guardRecord) check(t *testing.T, lines []audit.Record) {
	t.Helper()
	if len(lines) != 2 {
		t.Errorf("%d lines in the audit log: %+v", len(lines), lines)
	}
	for _, r := range lines {
		got := guardRecord{r.Outcome, api.Code(r.Code), len(r.Keys), r.More > 0, r.Fence}
		if want.code == "" {
			got.code = ""
		}
		if got != *want {
			t.Errorf("the audit log has %s: %+v, want %+v", r.Act, got, *want)
		}
	}
}

// A line of the audit log has 4 KiB of names, whichever way the write came.
func TestLinesOfTheAuditLogAreBoundedAlike(t *testing.T) {
	b := startBoth(t)
	keys := manyKeys("app/", api.MaxTxnOps)
	for i := range keys {
		keys[i] += strings.Repeat("x", 100)
	}
	body, mset := setAll(keys)
	b.lines(t)
	b.http(b.app, "PUT /v1/txn", body)
	b.redis(t, b.app, mset...)
	lines := b.lines(t)
	for _, r := range lines {
		bytes, shown := len(strings.Join(r.Keys, "")), len(r.Keys)
		if bytes > 4<<10 || shown != len(lines[0].Keys) || shown+r.More != len(keys) {
			t.Errorf("%s: %d keys with %d bytes, and %d more", r.Act, len(r.Keys), bytes, r.More)
		}
	}
}

// The rate is that of a token, from whichever address and over either protocol, and of the address without one.
func TestTheRateOfATokenIsOneForBothProtocols(t *testing.T) {
	b := startBoth(t, func(c *Config) {
		// The burst is for the questions whether the node has started, which come from the same address.
		c.Limits.Rate = admission.Rate{Mode: admission.Enforcing, PerSecond: 20, Burst: 2000}
		c.Limits.Loopback = true
	})
	c := dialRedis(t, b.host)
	for end := time.Now().Add(10 * time.Second); c.do("AUTH "+b.app) != "+OK"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no login")
		}
	}
	refused := false
	for range 4000 {
		if refused = strings.HasPrefix(c.do("GET app/k"), "-TRYAGAIN "); refused {
			break
		}
	}
	if !refused {
		t.Fatal("the rate of a client is not bounded")
	}
	got := ""
	for range 10 { // the refusal took time, in which some became possible again
		if got = b.http(b.app, "PUT /v1/kv/app/k", "v"); strings.HasPrefix(got, "429 ") {
			break
		}
	}
	if !strings.HasPrefix(got, "429 ") {
		t.Errorf("the same token over HTTP: %s", got)
	}
	if got := b.http(b.operator, "PUT /v1/kv/app/k", "v"); !strings.HasPrefix(got, "200 ") {
		t.Errorf("another token, from the same address: %s", got)
	}
}

// A token that is revoked while its client is connected is refused over both protocols from then on, with the same code
// in the audit log.
func TestARevokedTokenIsRefusedAlike(t *testing.T) {
	b := startBoth(t)
	token := made[api.Token](t, b.host, b.root, "/v1/acl/token", `{"Policies":[{"Name":"app"}]}`)
	c := dialRedis(t, b.host)
	if got := c.do("AUTH " + token.SecretID); got != "+OK" {
		t.Fatal(got)
	}
	if got := c.do("SET app/k v"); got != "+OK" {
		t.Fatal(got)
	}
	b.lines(t)
	b.http(b.root, "DELETE /v1/acl/token/"+token.AccessorID, "")
	if got := c.do("SET app/k v"); !strings.HasPrefix(got, "-NOAUTH ") {
		t.Error(got)
	}
	if got := b.http(token.SecretID, "PUT /v1/kv/app/k", "v"); !strings.HasPrefix(got, "403 ACL not found") {
		t.Error(got)
	}
	for _, r := range b.lines(t) {
		if r.Outcome != audit.Denied || r.Code != string(api.CodeUnknownToken) {
			t.Errorf("%+v", r)
		}
	}
}
