package main

import (
	"slices"
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

// meantForEndpoints are names that do not resemble that of the variable.
var meantForEndpoints = []string{"ADDR", "ADDRESS", "ENDPOINT", "ENDPOINTS", "HTTP_ADDRESS", "HTTP_ENDPOINTS"}

// environEndpoints returns the endpoints that a variable names, the first that is set, and the name of that variable;
// or the default, and "".
func (a *app) environEndpoints() (list []string, variable string) {
	for _, name := range [...]string{endpointsVariable, "TENURE_HTTP_ADDR", "CONSUL_HTTP_ADDR"} {
		for _, e := range a.environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
				return strings.Split(v, ","), name
			}
		}
	}
	return defaultEndpoints, ""
}

// checkEnviron refuses a variable that is probably meant for kvctl and misspelt: without it kvctl would talk to another
// cluster.
func (a *app) checkEnviron() error {
	for _, e := range a.environ {
		name, value, _ := strings.Cut(e, "=")
		if rest, ok := strings.CutPrefix(name, clientPrefix); ok && value != "" && !servicelink.Is(rest, value) {
			if meant := misspeltClientVariable(rest); meant != "" {
				return usage("%s is not a variable of kvctl; unset it, or see kvctl --help for the flags%s", name, meant)
			}
		}
		rest, ours := strings.CutPrefix(name, ownPrefix)
		if !ours || value == "" || name == endpointsVariable || servicelink.Is(rest, value) {
			continue
		}
		return usage("%s is not a variable of kvctl; unset it, or see kvctl --help for the flags%s", name,
			suggest.Question(rest, ownPrefix, []string{strings.TrimPrefix(endpointsVariable, ownPrefix)}))
	}
	return nil
}

// misspeltClientVariable returns the question which variable of the Go client is meant by a name without its prefix; ""
// if it is one, or resembles none.
func misspeltClientVariable(name string) string {
	if slices.Contains(clientVariables, name) || slices.Contains(commandVariables, name) {
		return ""
	}
	if slices.Contains(meantForEndpoints, name) {
		name = "HTTP_ADDR"
	}
	return suggest.Question(name, clientPrefix, clientVariables)
}
