// Package acl says what a token may do: it reads the rules of policies and decides by them. It is pure, and it knows
// nothing of tokens, of requests or of where policies are kept.
//
//	rule.go        Access, Kind, Rule: what a rule grants, on what
//	words.go       the words of Consul's rules: those that count here, and those that are accepted and mean nothing
//	parse.go       Parse: text to rules, or an error with a line number
//	tree.go        the form that HCL and JSON are read into, and its bounds
//	hcl.go         HCL to that form
//	json.go        JSON to that form
//	permission.go  Permission: one thing that a request needs, and how it is called
//	table.go       the rules of one kind, and the one that governs a name
//	authorizer.go  Compile, Authorizer: policies to decisions
//
// # Which rule governs
//
// As in Consul, an exact rule goes before every rule for a prefix, then the longest prefix goes first, whatever it
// grants: a short prefix that denies does not weaken a longer one that grants. Only between rules for the very same
// name, of several policies, the strongest wins: deny before write before list before read. What no rule governs is
// denied.
//
// # Which bytes
//
// Names are compared byte for byte with the names that the store sees. Nothing is cleaned, folded or unescaped here.
package acl
