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
	made[api.Policy](t, b.host, b.root, "/v1/acl/policy", `{"Name":"app","Rules":"key_prefix \"app/\" { policy = \"write\" }"}`)
	made[api.Policy](t, b.host, b.root, "/v1/acl/policy", `{"Name":"ops","Rules":"operator = \"read\""}`)
	b.app = made[api.Token](t, b.host, b.root, "/v1/acl/token", `{"Policies":[{"Name":"app"}]}`).SecretID
	b.operator = made[api.Token](t, b.host, b.root, "/v1/acl/token", `{"Policies":[{"Name":"app"},{"Name":"ops"}]}`).SecretID
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
			if !strings.HasPrefix(r.Act, "acl-") {
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

// What protects the store, and what is told of a refusal, is the same over both protocols: each row is one case, with
// what either must say.
func TestBothProtocolsGuardAlike(t *testing.T) {
	b := startBoth(t)
	b.http(b.root, "PUT /v1/kv/theirs/big", strings.Repeat("x", 1000))
	if got := b.http(b.root, "PUT /v1/quota/app/full/", `{"bytes":2000}`); !strings.HasPrefix(got, "200") {
		t.Fatal(got)
	}
	b.http(b.root, "PUT /v1/kv/app/full/theirs", strings.Repeat("x", 1900))
	for _, secret := range []string{b.http(b.root, "PUT /v1/kv/app/lock?fence=kv/app/f:7", "v"), b.redis(t, b.root, "SET", "app/k", "v")} {
		if secret != "200 true" && secret != "+OK" {
			t.Fatal(secret)
		}
	}
	b.lines(t)
	most := b.cfg.MaxValueBytes
	big, few := strings.Repeat("x", 500), manyKeys("app/", 100)
	denied := append(manyKeys("app/", 30), manyKeys("theirs/", 90)...)
	writeFew, msetFew := setAll(few)
	writeDenied, msetDenied := setAll(denied)
	long := "app/" + strings.Repeat("k", api.MaxKeyBytes)
	for _, c := range []struct {
		name     string
		secret   string
		http     string // the line, and behind a line end the body
		status   string // how the answer begins, as a pattern
		redis    []string
		reply    string // likewise
		mayNot   string // that neither says
		code     api.Code
		outcome  audit.Outcome
		keys     int  // in the line of the audit log
		cut      bool // not all of them are
		noRecord bool
		fence    string
	}{
		{name: "a write that is denied", secret: b.app, http: "PUT /v1/kv/theirs/k\nv", status: "403 Permission denied",
			redis: []string{"SET", "theirs/k", "v"}, reply: "-NOPERM", code: api.CodeDenied, outcome: audit.Denied, keys: 1},
		{name: "a read that is denied", secret: b.app, http: "GET /v1/kv/theirs/big", status: "403 Permission denied",
			redis: []string{"GET", "theirs/big"}, reply: "-NOPERM", noRecord: true},
		{name: "many keys of which some are denied", secret: b.app, http: "PUT /v1/txn\n" + writeDenied, status: "409 ",
			redis: msetDenied, reply: "-NOPERM", code: api.CodeDenied, outcome: audit.Denied, keys: 1, cut: true},
		{name: "many keys", secret: b.app, http: "PUT /v1/txn\n" + writeFew, status: "200 ",
			redis: msetFew, reply: `\+OK`, outcome: audit.Done, keys: 100},
		{name: "over a quota", secret: b.app, http: "PUT /v1/kv/app/full/mine\n" + big, status: "507 .*quota",
			redis: []string{"SET", "app/full/mine", big}, reply: "-OOM .*quota", mayNot: "19[0-9][0-9]|2000",
			code: api.CodeNoSpace, outcome: audit.NotApplied, keys: 1},
		{name: "over a quota, for an operator", secret: b.operator, http: "PUT /v1/kv/app/full/mine\n" + big, status: "507 .*19[0-9][0-9]",
			redis: []string{"SET", "app/full/mine", big}, reply: "-OOM .*19[0-9][0-9]",
			code: api.CodeNoSpace, outcome: audit.NotApplied, keys: 1},
		{name: "over a quota, among other faults", secret: b.app,
			http:   `PUT /v1/txn` + "\n" + `[{"KV":{"Verb":"set","Key":"app/full/mine","Value":"` + strings.Repeat("MTEx", 170) + `"}},{"KV":{"Verb":"check-index","Key":"app/k","Index":1}}]`,
			status: "409 .*quota", redis: []string{"MSET", "app/full/mine", big}, reply: "-OOM .*quota", mayNot: "19[0-9][0-9]|2000",
			outcome: audit.NotApplied, keys: 1},
		{name: "a fence without a token", secret: b.app, http: "PUT /v1/kv/app/k?fence=kv/app/f:0\nv", status: "400 .*from 1",
			redis: []string{"TENURE.FENCE", "kv/app/f:0", "SET", "app/k", "v"}, reply: "-ERR .*from 1", noRecord: true},
		{name: "a smaller fence", secret: b.app, http: "PUT /v1/kv/app/k?fence=kv/app/f:3\nv", status: "409 fenced: a larger token",
			redis: []string{"TENURE.FENCE", "kv/app/f:3", "SET", "app/k", "v"}, reply: "-FENCED a larger token", code: api.CodeFenced,
			outcome: audit.NotApplied, keys: 1, fence: "kv/app/f:3"},
		{name: "a fence that is not the client's", secret: b.app, http: "PUT /v1/kv/app/k?fence=kv/theirs:3\nv", status: "403 ",
			redis: []string{"TENURE.FENCE", "kv/theirs:3", "SET", "app/k", "v"}, reply: "-NOPERM", code: api.CodeDenied,
			outcome: audit.Denied, keys: 1, fence: "kv/theirs:3"},
		{name: "a key that is too long", secret: b.app, http: "PUT /v1/kv/" + long + "\nv", status: "400 .*1,?024",
			redis: []string{"SET", long, "v"}, reply: "-ERR .*1,?024", noRecord: true},
		{name: "a key that is not UTF-8", secret: b.app, http: "PUT /v1/kv/app/%ff\nv", status: "400 .*UTF-8",
			redis: []string{"SET", "app/\xff", "v"}, reply: "-ERR .*UTF-8", noRecord: true},
		{name: "a value that is too large", secret: b.app, http: "PUT /v1/kv/app/k\n" + strings.Repeat("x", most+1), status: "413 .*too large",
			redis: []string{"SET", "app/k", strings.Repeat("x", most+1)}, reply: "-ERR ", noRecord: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			line, body, _ := strings.Cut(c.http, "\n")
			for protocol, got := range map[string]string{"HTTP": b.http(c.secret, line, body), "Redis": b.redis(t, c.secret, c.redis...)} {
				want := c.status
				if protocol == "Redis" {
					want = c.reply
				}
				if !regexp.MustCompile("^(?s:" + want + ")").MatchString(got) {
					t.Errorf("%s: %.300q, want %q", protocol, got, want)
				}
				if c.mayNot != "" && regexp.MustCompile(c.mayNot).MatchString(got) {
					t.Errorf("%s tells others' usage: %.300q", protocol, got)
				}
			}
			lines := b.lines(t)
			if !c.noRecord && len(lines) != 2 {
				t.Errorf("%d lines in the audit log: %+v", len(lines), lines)
			}
			for _, r := range lines {
				if c.noRecord {
					break
				}
				if r.Outcome != c.outcome || c.code != "" && r.Code != string(c.code) || len(r.Keys) != c.keys || (r.More > 0) != c.cut || r.Fence != c.fence {
					t.Errorf("the audit log has %s %s %s, %d keys and %d more, fence %q", r.Act, r.Outcome, r.Code, len(r.Keys), r.More, r.Fence)
				}
			}
		})
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
		if bytes := len(strings.Join(r.Keys, "")); bytes > 4<<10 || len(r.Keys) != len(lines[0].Keys) || len(r.Keys)+r.More != len(keys) {
			t.Errorf("%s: %d keys with %d bytes, and %d more", r.Act, len(r.Keys), bytes, r.More)
		}
	}
}

// The rate is that of a token, from whichever address and over either protocol, and of the address without one.
func TestTheRateOfATokenIsOneForBothProtocols(t *testing.T) {
	b := startBoth(t, func(c *Config) {
		c.Limits.Rate = admission.Rate{Mode: admission.Enforcing, PerSecond: 20, Burst: 40}
		c.Limits.Loopback = true
	})
	c := dialRedis(t, b.host)
	for end := time.Now().Add(10 * time.Second); c.do("AUTH "+b.app) != "+OK"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no login")
		}
	}
	refused := false
	for range 200 {
		if refused = strings.HasPrefix(c.do("SET app/k v"), "-TRYAGAIN "); refused {
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
