package recovery

import (
	"fmt"
	"strings"
	"time"

	"tenure/kv"
)

// pair is a key of a put-all, with its value.
type pair struct {
	Key   string   `json:"key"`
	Value *content `json:"value"`
}

// limits is those of a quota. 0: there is none.
type limits struct {
	Bytes uint64 `json:"bytes,omitempty"`
	Keys  uint64 `json:"keys,omitempty"`
}

// policy is a policy that is written.
type policy struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Rules       string `json:"rules"` // the beginning and "…", without Inspection.Values
}

// token is a token that is written, without the hash of its secret.
type token struct {
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Policies    []string `json:"policies,omitempty"` // IDs or names
	Certificate string   `json:"certificate,omitempty"`
	Expires     string   `json:"expires,omitempty"`
}

func (p *inspector) policyOf(x *kv.Policy) *policy {
	return &policy{x.Name, x.Description, p.beginning(x.Rules)}
}

func tokenOf(t *kv.Token) *token {
	out := &token{Name: t.Name, Description: t.Description, Policies: t.Policies, Certificate: t.Certificate}
	if t.Expires != 0 {
		out.Expires = time.Unix(0, t.Expires).UTC().Format(time.RFC3339)
	}
	return out
}

// beginning returns what is shown of a text.
func (p *inspector) beginning(text string) string {
	if p.Values || len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

func (l *limits) text() string {
	var parts []string
	if l != nil && l.Bytes > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes", l.Bytes))
	}
	if l != nil && l.Keys > 0 {
		parts = append(parts, fmt.Sprintf("%d keys", l.Keys))
	}
	return strings.Join(parts, " ")
}

func (p *policy) text() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%q, description %q, rules %q", p.Name, p.Description, p.Rules)
}

func (t *token) text() string {
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("%q, description %q, policies %q", t.Name, t.Description, t.Policies)
	if t.Certificate != "" {
		text += fmt.Sprintf(", certificate %q", t.Certificate)
	}
	if t.Expires != "" {
		text += ", expires " + t.Expires
	}
	return text
}
