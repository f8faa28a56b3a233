// Package acl reads the rules of policies and decides permissions by them. It is pure, and knows neither tokens nor
// requests nor the storage of policies.
//
//	rule.go        Access, Kind, Rule: what a rule grants, on what
//	words.go       the words of Consul's rules: those that count here, and those that are accepted and mean nothing
//	parse.go       Parse: text to rules, or an error with a line number
//	tree.go        the form that HCL and JSON are read into, and its bounds
//	hcl.go         HCL to that form
//	json.go        JSON to that form
//	permission.go  Permission: one thing that a request needs, and how it is called
//	named.go       Named: a permission that a client names
//	table.go       the rules of one kind, and the one that governs a name
//	authorizer.go  Compile, Authorizer: policies to decisions
//
// # Which rule governs
//
// As in Consul, an exact rule goes before every rule for a prefix, and then the longest prefix goes first, whatever it
// grants. A short prefix that denies does not weaken a longer one that grants. Only among rules for the very same name,
// from several policies, the strongest wins: deny before write before list before read. A name without a rule is
// denied.
//
// # Which bytes
//
// Names are compared byte for byte with the names that the store sees. Nothing is cleaned, folded or unescaped here.
package acl
