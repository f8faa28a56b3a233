package main

import (
	"strings"

	"tenure/internal/servicelink"
	"tenure/internal/suggest"
)

// endpointsVariable names the nodes. It is the only variable of kvctl's own; the others are those of the Go client.
const endpointsVariable = "KVCTL_ENDPOINTS"

const ownPrefix = "KVCTL_"

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
		rest, ours := strings.CutPrefix(name, ownPrefix)
		if !ours || value == "" || name == endpointsVariable || servicelink.Is(rest, value) {
			continue
		}
		return usage("%s is not a variable of kvctl; unset it, or see kvctl --help for the flags%s", name,
			suggest.Question(rest, ownPrefix, []string{strings.TrimPrefix(endpointsVariable, ownPrefix)}))
	}
	return nil
}
