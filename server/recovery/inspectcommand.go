package recovery

import (
	"cmp"
	"encoding/json"
	"fmt"

	"tenure/kv"
)

// command is a command of the log as JSON shows it. Fields that do not apply are omitted.
type command struct {
	Op             string   `json:"op"`
	Key            string   `json:"key,omitempty"`
	NewKey         string   `json:"new_key,omitempty"`
	Value          *content `json:"value,omitempty"`
	Test           *content `json:"test,omitempty"` // what the key must hold
	Flags          uint64   `json:"flags,omitempty"`
	Index          *uint64  `json:"index,omitempty"` // what the key's ModifyIndex must be
	Lock           string   `json:"lock,omitempty"`  // acquire, release
	TTLMS          int64    `json:"ttl_ms,omitempty"`
	Number         int64    `json:"number,omitempty"`
	Session        string   `json:"session,omitempty"`
	SessionName    string   `json:"session_name,omitempty"`
	Armed          uint64   `json:"armed,omitempty"` // which setting of a time the command ends
	Fence          string   `json:"fence,omitempty"`
	Token          uint64   `json:"token,omitempty"`
	Subject        string   `json:"subject,omitempty"` // ID of a policy, or accessor of a token
	Decided        uint64   `json:"decided,omitempty"` // revision of the tokens and policies that allowed it
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
	Base           uint64   `json:"base,omitempty"`

	Parts   []command `json:"parts,omitempty"`
	Problem string    `json:"problem,omitempty"` // why it cannot be read
}

// opNames has the names of the commands, and of the verbs that only a part of a transaction has.
var opNames = map[kv.Op]string{
	kv.OpSet: "set", kv.OpDelete: "delete", kv.OpPrune: "delete prefix", kv.OpAdd: "add",
	kv.OpTestAndSet: "test and set", kv.OpRename: "rename", kv.OpRemove: "remove", kv.OpExpire: "expire",
	kv.OpTransaction: "transaction", kv.OpSessionCreate: "create session", kv.OpSessionDestroy: "destroy session",
	kv.OpSessionRenew: "renew session", kv.OpDropFence: "drop fence", kv.OpEndSession: "end session",
	kv.OpEndKey: "end key", kv.OpEndDelay: "end lock-delay", kv.OpNewEra: "new era", kv.OpQuota: "quota",
	kv.OpLevel: "feature level", kv.OpStage: "stage a piece of an upload", kv.OpInstall: "install an upload",
	kv.OpDropStaged: "drop an upload",
	kv.OpPutPolicy:  "put policy", kv.OpDropPolicy: "delete policy", kv.OpPutToken: "put token",
	kv.OpDropToken: "delete token", kv.OpEndToken: "end token", kv.OpBootstrap: "bootstrap tokens",
	kv.OpPut: "put", kv.OpAppend: "append", kv.OpIncrement: "increment", kv.OpUnlink: "unlink", kv.OpRetime: "set TTL",
	kv.OpMove: "move", kv.OpFetch: "fetch", kv.OpMeasure: "measure", kv.OpSequence: "sequence",
	kv.OpPutAll: "put all",
	kv.OpGet:    "get", kv.OpGetOrEmpty: "get or empty", kv.OpGetTree: "get prefix", kv.OpCheckIndex: "check index",
	kv.OpCheckSession: "check session", kv.OpCheckNotExists: "check not exists", kv.OpCheckValue: "check value",
	kv.OpCheckUnchanged: "check unchanged",
}

func opName(op kv.Op) string { return cmp.Or(opNames[op], fmt.Sprintf("op %d", op)) }

// decode describes an encoded command.
func (p *inspector) decode(b []byte) command {
	c, err := kv.DecodeCommand(b)
	if err != nil {
		return command{Op: "unreadable", Problem: err.Error()}
	}
	return p.describe(&c)
}

func (p *inspector) describe(c *kv.Command) command {
	out := command{Op: opName(c.Op), Key: c.Key, NewKey: c.NewKey, Flags: c.Flags, TTLMS: c.TTL.Milliseconds(),
		Number: c.Num, Session: c.Session.ID, SessionName: c.Session.Name, Armed: c.Arm, Fence: c.Fence, Token: c.Token,
		IdempotencyKey: c.IdemKey, Base: c.Base, Subject: c.ACLSubject(), Decided: c.Decided}
	if len(c.Value) > 0 && out.Subject == "" || c.Op == kv.OpSet || c.Op == kv.OpTestAndSet || c.Op == kv.OpCheckValue {
		out.Value = p.content(c.Value)
	}
	if c.Op == kv.OpTestAndSet {
		out.Test = p.content(c.Test)
	}
	if c.HasIndex || c.Op == kv.OpCheckIndex {
		out.Index = &c.Index
	}
	switch c.Lock {
	case kv.LockAcquire:
		out.Lock = "acquire"
	case kv.LockRelease:
		out.Lock = "release"
	}
	for i := range c.Parts {
		out.Parts = append(out.Parts, p.describe(&c.Parts[i]))
	}
	return out
}

// text returns c as text for people.
func (c *command) text() string {
	if c.Problem != "" {
		return c.Problem
	}
	text := c.Op
	add := func(there bool, format string, args ...any) {
		if there {
			text += fmt.Sprintf(format, args...)
		}
	}
	add(c.Key != "", " %q", c.Key)
	add(c.Subject != "", " %s", c.Subject)
	add(c.NewKey != "", " to %q", c.NewKey)
	add(c.Value != nil, " = %s", c.Value.text())
	add(c.Test != nil, " if it is %s", c.Test.text())
	add(c.Number != 0, " %d", c.Number)
	add(c.Index != nil, " if its index is %d", deref(c.Index))
	add(c.Lock != "", " %s", c.Lock)
	add(c.Session != "", " session %s", c.Session)
	add(c.TTLMS != 0, " ttl %d ms", c.TTLMS)
	add(c.Fence != "", " fence %s token %d", c.Fence, c.Token)
	for i := range c.Parts {
		text += "\n        " + c.Parts[i].text()
	}
	return text
}

func deref(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// content is a value, or its beginning: base64 in JSON, since it may be any bytes, and quoted in text.
type content struct {
	shown []byte
	bytes int // of the whole value
}

// maxShown is the number of bytes of a value that are shown without Inspection.Values.
const maxShown = 40

// content copies what is shown of a value.
func (p *inspector) content(value []byte) *content {
	shown := value
	if !p.Values {
		shown = value[:min(len(value), maxShown)]
	}
	return &content{shown: append([]byte{}, shown...), bytes: len(value)}
}

// MarshalJSON returns an object of base64, the length of the value, and whether that is only its beginning.
func (c *content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Base64    []byte `json:"base64"`
		Bytes     int    `json:"bytes"`
		Shortened bool   `json:"shortened,omitempty"`
	}{c.shown, c.bytes, len(c.shown) < c.bytes})
}

func (c *content) text() string {
	switch {
	case c == nil:
		return ""
	case len(c.shown) < c.bytes:
		return fmt.Sprintf("%q… (%d bytes)", c.shown, c.bytes)
	}
	return fmt.Sprintf("%q", c.shown)
}
