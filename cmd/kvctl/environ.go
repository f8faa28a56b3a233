package main

import (
	"slices"
	"strconv"
	"strings"

	"tenure/internal/servicelink"
	"tenure/internal/suggest"
)

// endpointsVariable names the nodes. It is the only variable of kvctl's own; the others are those of the Go client.
const endpointsVariable = "KVCTL_ENDPOINTS"

const ownPrefix = "KVCTL_"

// clientPrefix begins the variables of the Go client. Others may have some of their own that begin so.
const clientPrefix = "TENURE_"

// clientVariables are those, without the prefix, which kvctl takes.
var clientVariables = []string{"HTTP_ADDR", "HTTP_TOKEN", "HTTP_TOKEN_FILE", "HTTP_SSL", "HTTP_SSL_VERIFY", "CACERT",
	"CLIENT_CERT", "CLIENT_KEY", "TLS_SERVER_NAME"}

// commandVariables are those which kvctl gives to the commands that it runs: kvctl may be one of them.
var commandVariables = []string{"FENCE", "TOKEN", "LEASE", "LOCK", "SESSION", "EVENT", "KEY", "INDEX"}

// meantFor has names that do not resemble the one of clientVariables that is meant.
var meantFor = map[string]string{
	"ADDR": "HTTP_ADDR", "ADDRESS": "HTTP_ADDR", "ENDPOINT": "HTTP_ADDR", "ENDPOINTS": "HTTP_ADDR",
	"HTTP_ADDRESS": "HTTP_ADDR", "HTTP_ENDPOINTS": "HTTP_ADDR",
	"TOKEN": "HTTP_TOKEN", "ACL_TOKEN": "HTTP_TOKEN", "TOKEN_FILE": "HTTP_TOKEN_FILE",
	"CA_FILE": "CACERT", "SSL_VERIFY": "HTTP_SSL_VERIFY", "SERVER_NAME": "TLS_SERVER_NAME",
}

// environEndpoints returns the endpoints that a variable names, the first that is set, and the name of that variable;
// or the default, and "".
func environEndpoints(environ []string) (list []string, variable string) {
	for _, name := range [...]string{endpointsVariable, "TENURE_HTTP_ADDR", "CONSUL_HTTP_ADDR"} {
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
				return strings.Split(v, ","), name
			}
		}
	}
	return defaultEndpoints, ""
}

// checkEnviron refuses a variable that is probably meant for kvctl and misspelt: without it kvctl would talk to another
// cluster.
func checkEnviron(environ []string) error {
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if rest, ok := strings.CutPrefix(name, clientPrefix); ok && value != "" && !servicelink.Is(rest, value) {
			if meant := misspeltClientVariable(rest, value); meant != "" {
				return usage("%s is not a variable of kvctl; unset it, or see kvctl --help for the flags%s", name, meant)
			}
		}
		rest, ours := strings.CutPrefix(name, ownPrefix)
		if !ours || value == "" || name == endpointsVariable || servicelink.Is(rest, value) {
			continue
		}
		meant := suggest.Question(rest, ownPrefix, []string{strings.TrimPrefix(endpointsVariable, ownPrefix)})
		if meant == "" {
			meant = clientVariable(rest)
		}
		return usage("%s is not a variable of kvctl; unset it, or see kvctl --help for the flags%s", name, meant)
	}
	return nil
}

// misspeltClientVariable returns the question which variable of the Go client is meant by a name without its prefix; ""
// if it is one, or resembles none.
func misspeltClientVariable(name, value string) string {
	switch {
	case slices.Contains(clientVariables, name):
		return ""
	case name == "TOKEN" && !isNumber(value): // that of a lease is a number, so this is a secret
	case slices.Contains(commandVariables, name):
		return ""
	}
	return clientVariable(name)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// clientVariable returns the question which variable of the Go client is meant by a name without a prefix; "" if it
// resembles none.
func clientVariable(name string) string {
	if meant, ok := meantFor[name]; ok {
		name = meant
	}
	return suggest.Question(name, clientPrefix, clientVariables)
}
