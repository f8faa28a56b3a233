package transport

import (
	"cmp"
	"fmt"
	"strings"

	"tenure/internal/ident"
	"tenure/internal/shown"
)

// joinCommand returns the command with which a node joins the cluster of the member at addr, in place of x if that is
// not nil. The texts of the bootstrap show it where that is what helps.
func joinCommand(addr string, x *ident.Member, data string) string {
	parts := []string{"kvnode --join", addr}
	if x != nil {
		parts = append(parts, replaceFlag(*x))
	}
	return strings.Join(append(parts, "--data", shown.Word(data)), " ")
}

// replaceFlag returns the flag with which a node joins in place of x.
func replaceFlag(x ident.Member) string {
	return "--replace " + shown.Word(nameOf(x))
}

// nameOf returns what x is called.
func nameOf(x ident.Member) string { return cmp.Or(x.Name, fmt.Sprintf("node-%d", x.Node)) }
