package recovery

import (
	"encoding/json"
	"fmt"

	"tenure/kv"
)

// command is a command of the log as JSON shows it. Fields that do not apply are omitted.
type command struct {
	Op             string   `json:"op"`
	Modes          string   `json:"modes,omitempty"` // such as "if-absent return"
	Key            string   `json:"key,omitempty"`
	NewKey         string   `json:"new_key,omitempty"`
	Value          *content `json:"value,omitempty"`
	Test           *content `json:"test,omitempty"` // what the key must hold
	Pairs          []pair   `json:"pairs,omitempty"`
	Limits         *limits  `json:"limits,omitempty"` // of a quota
	Policy         *policy  `json:"policy,omitempty"`
	ACLToken       *token   `json:"acl_token,omitempty"`
	Release        string   `json:"release,omitempty"` // whose feature level it is
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

// decode describes an encoded command.
func (p *inspector) decode(b []byte) command {
	c, err := kv.DecodeCommand(b)
	if err != nil {
		return command{Op: "unreadable", Problem: err.Error()}
	}
	return p.describe(&c)
}

func (p *inspector) describe(c *kv.Command) command {
	out := command{Op: c.Op.String(), Modes: c.Mode.String(), Key: c.Key, NewKey: c.NewKey, Flags: c.Flags,
		TTLMS: c.TTL.Milliseconds(), Number: c.Num, Session: c.Session.ID, SessionName: c.Session.Name, Armed: c.Arm, Fence: c.Fence, Token: c.Token,
		IdempotencyKey: c.IdemKey, Base: c.Base, Subject: c.ACLSubject(), Decided: c.Decided}
	p.describeValue(c, &out)
	if c.Mode&kv.ModeEqual != 0 {
		out.Test = p.content(c.Test)
	}
	switch {
	case c.HasIndex && out.Subject != "": // a policy or token to be created
		out.Modes = kv.ModeAbsent.String()
	case c.HasIndex, c.Op == kv.OpCheckIndex:
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

// describeValue describes the value of c: as what the operation takes it for. Each form that is not a value of a key is
// named, since each is shown in another way.
func (p *inspector) describeValue(c *kv.Command, out *command) {
	switch c.Op {
	case kv.OpPutAll:
		_ = c.EachPair(func(key string, value []byte) bool { // it is valid, and so has pairs
			out.Pairs = append(out.Pairs, pair{key, p.content(value)})
			return true
		})
	case kv.OpQuota:
		if bytes, keys, ok := kv.ParseQuotaLimits(c.Value); ok {
			out.Limits = &limits{bytes, keys}
		}
	case kv.OpPutPolicy:
		out.Policy = p.policyOf(kv.PolicyOf(c))
	case kv.OpPutToken, kv.OpBootstrap:
		out.ACLToken = tokenOf(kv.TokenOf(c))
	case kv.OpLevel:
		out.Release = string(c.Value)
	default:
		if c.Op.TakesValue() || len(c.Value) > 0 && out.Subject == "" {
			out.Value = p.content(c.Value)
		}
	}
}

// text returns c as text for people.
func (c *command) text() string {
	if c.Problem != "" {
		return c.Problem
	}
	text := c.Op
	if c.Modes != "" {
		text += " " + c.Modes
	}
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
	add(c.Session != "", " session %q", c.Session)
	add(c.TTLMS != 0, " ttl %d ms", c.TTLMS)
	add(c.Fence != "", " fence %q token %d", c.Fence, c.Token)
	add(c.Limits != nil, " %s", c.Limits.text())
	add(c.Policy != nil, " %s", c.Policy.text())
	add(c.ACLToken != nil, " %s", c.ACLToken.text())
	add(c.Release != "", " of release %q", c.Release)
	for _, p := range c.Pairs {
		text += fmt.Sprintf("\n            %q = %s", p.Key, p.Value.text())
	}
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
