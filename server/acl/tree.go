package acl

import (
	"fmt"
	"strconv"
)

// maxDepth bounds how deep blocks, objects and lists may stand in each other. Rules need 4 in JSON.
const maxDepth = 8

// value is what stands after a name, whether in HCL or in JSON: exactly one of a text, members, and items.
type value struct {
	line    int
	shape   shape
	text    string
	members []member
	items   []value
}

type shape uint8

const (
	isText shape = iota
	isObject
	isList
	isOther // a number, true, false or null, which rules have nowhere
)

var shapeNames = [...]string{
	isText: "a text", isObject: "a block", isList: "a list", isOther: "a number, true, false or null",
}

// member is a name and what stands after it. In HCL, `key "a" { … }` is a member key whose value has the member "a".
type member struct {
	line  int
	name  string
	value value
}

// RulesError says what is wrong with rules, and where.
type RulesError struct {
	Line int // from 1; 0: it is of the whole
	Text string
}

// Error returns the line and the text.
func (e *RulesError) Error() string {
	if e.Line == 0 {
		return "rules: " + e.Text
	}
	return "rules, line " + strconv.Itoa(e.Line) + ": " + e.Text
}

func wrong(line int, format string, args ...any) *RulesError {
	return &RulesError{Line: line, Text: fmt.Sprintf(format, args...)}
}
