package acl

import (
	"bytes"
	"unicode/utf8"

	"tenure/api"
)

// Parse reads the rules of a policy, in HCL or, if they begin with a brace, in JSON. The error is a *RulesError.
func Parse(rules string) (*Policy, error) {
	switch {
	case len(rules) > api.MaxRulesBytes:
		return nil, wrong(0, "%d bytes, and %d are the most: make several policies of them", len(rules),
			api.MaxRulesBytes)
	case !utf8.ValidString(rules):
		return nil, wrong(0, "they are not UTF-8")
	}
	src := []byte(rules)
	read := readHCL
	if bytes.HasPrefix(bytes.TrimLeft(src, " \t\r\n"), []byte("{")) {
		read = readJSON
	}
	root, err := read(src)
	if err != nil {
		return nil, err
	}
	p := policyReader{lines: make(map[Rule]int)}
	for _, m := range root.members {
		if err := p.member(m); err != nil {
			return nil, err
		}
	}
	return &Policy{Rules: p.rules}, nil
}

// policyReader makes rules of what was read.
type policyReader struct {
	rules []Rule
	lines map[Rule]int // where the rules are, without their access
}

// member reads what stands at the top.
func (p *policyReader) member(m member) error {
	w, ok := words[m.name]
	if !ok {
		return wrong(m.line, "%.60q: %s", m.name, explainWord(m.name))
	}
	if !w.named {
		return p.single(m, w)
	}
	return p.blocks(m, w, m.value)
}

// single reads a rule of a kind without names: operator = "read".
func (p *policyReader) single(m member, w word) error {
	if m.value.shape != isText {
		return wrong(m.line, "%s needs an access, as in %s = \"read\", not %s", m.name, m.name,
			shapeNames[m.value.shape])
	}
	return p.add(m.line, m.name, w, "", m.value.text)
}

// blocks reads rules of a kind with names: key "a" { policy = "read" }. They may stand in lists.
func (p *policyReader) blocks(m member, w word, v value) error {
	switch v.shape {
	case isList:
		for _, e := range v.items {
			if err := p.blocks(m, w, e); err != nil {
				return err
			}
		}
		return nil
	case isObject:
		for _, b := range v.members {
			if err := p.block(m.name, w, b); err != nil {
				return err
			}
		}
		return nil
	}
	return wrong(v.line, "%s needs a name and a block, as in %s \"a\" { policy = \"read\" }, not %s", m.name, m.name,
		shapeNames[v.shape])
}

// block reads one rule that has a name. The block may stand in a list of one.
func (p *policyReader) block(name string, w word, b member) error {
	body := b.value
	if body.shape == isList && len(body.items) == 1 {
		body = body.items[0]
	}
	if body.shape != isObject {
		return wrong(b.line,
			"%s %.60q needs a block, as in { policy = \"read\" }, not %s: quote the name if it is two words",
			name, b.name, shapeNames[body.shape])
	}
	access, found := "", false
	for _, m := range body.members {
		switch {
		case m.name == "intentions" && w.ignored && m.value.shape == isText:
			continue
		case m.name != "policy":
			return wrong(m.line, "%.60q: a rule has a policy and nothing else", m.name)
		case found:
			return wrong(m.line, "a second policy for %s %.60q", name, b.name)
		case m.value.shape != isText:
			return wrong(m.line, "policy must be a text, not %s", shapeNames[m.value.shape])
		}
		access, found = m.value.text, true
	}
	if !found {
		return wrong(b.line, "%s %.60q has no policy: { policy = \"read\" }", name, b.name)
	}
	return p.add(b.line, name, w, b.name, access)
}

// add adds a rule, unless it means nothing here.
func (p *policyReader) add(line int, wordName string, w word, name, access string) error {
	a, ok := accessOf(access, w)
	if !ok {
		return wrong(line, "%.60q is no access: %s has %s", access, wordName, accesses(w))
	}
	if w.ignored {
		return nil
	}
	if err := checkName(line, wordName, w.kind, name); err != nil {
		return err
	}
	r := Rule{Kind: w.kind, Prefix: w.prefix, Name: name}
	if at, ok := p.lines[r]; ok {
		return wrong(line, "%s %.60q has a rule already, in line %d", wordName, name, at)
	}
	p.lines[r] = line
	r.Access = a
	p.rules = append(p.rules, r)
	return nil
}

// accessOf returns what name grants in a rule of the word.
func accessOf(name string, w word) (Access, bool) {
	for a := Read; a <= Deny; a++ {
		if a.String() == name && (a != List || hasList(w)) {
			return a, true
		}
	}
	return 0, false
}

func accesses(w word) string {
	if hasList(w) {
		return "read, list, write and deny"
	}
	return "read, write and deny"
}

func hasList(w word) bool { return w.kind == Key && w.named && !w.ignored }

// maxNameBytes is how long a name can be that the store has, for the kinds with names.
var maxNameBytes = [kinds]int{
	Key: api.MaxKeyBytes, Session: api.MaxSessionNameBytes, Lease: api.MaxLeaseNameBytes,
	Agent: api.MaxSessionNameBytes, // of the node, as in a session
}

func checkName(line int, wordName string, k Kind, name string) error {
	if most := maxNameBytes[k]; len(name) > most {
		return wrong(line, "the name of %s has %d bytes, and there is none of more than %d", wordName, len(name), most)
	}
	if !utf8.ValidString(name) {
		return wrong(line, "the name of %s is not UTF-8: write what is not ASCII as it is, or as \\u and four digits",
			wordName)
	}
	return nil
}
