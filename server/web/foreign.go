package web

import (
	"slices"
	"strings"

	"tenure/internal/suggest"
	"tenure/server/service"
)

// A misspelt name must not be ignored, so every endpoint refuses query names that it does not take. But published
// clients of Consul send some names with requests in which they mean nothing: consul/api sends `wait` with every
// request when Config.WaitTime is set. This is the one table of these names. It holds for Consul's endpoints (rules
// with consul set), such as keys, sessions, transactions, tokens, the leader, the peers and the agent. Our own
// endpoints take only their own names.
//
// `dc`, `ns`, `token` and `pretty` are not in it: every endpoint but the health checks and /metrics takes them. There
// is one data centre and one name space, each to be named or left out. `pretty` changes white space.

// treatment says how a foreign name is handled.
type treatment uint8

const (
	refused     treatment = iota // 400, as any unknown name
	ignored                      // whatever its value, no answer depends on it
	defaultOnly                  // with the value that Consul has by default; any other would ask for another answer
)

// foreignName is a row of the table.
type foreignName struct {
	name   string
	reads  treatment
	writes treatment
	usual  string // what the default may be called, beside nothing
	why    string
}

var foreignNames = []foreignName{
	{"wait", ignored, ignored, "", "how long a blocking query waits: nothing else does. " +
		"consul/api sends Config.WaitTime with every request"},
	{"index", ignored, refused, "", "makes a read a blocking query, where there is one; " +
		"on a write it would be taken for a condition"},
	{"hash", ignored, ignored, "", "another way to block, which these endpoints of Consul do not have either"},
	{"stale", ignored, ignored, "", "an answer may be newer than it must be"},
	{"consistent", ignored, ignored, "", "writes are linearizable; " +
		"the leader, the peers and the agent are what this node knows"},
	{"cached", ignored, ignored, "", "an answer may be newer than it must be"},
	{"near", ignored, ignored, "", "sorts nodes and services, of which there are none"},
	{"relay-factor", ignored, ignored, "", "how gossip is sent on"},
	{"partition", defaultOnly, defaultOnly, "default", "there is one partition"},
	{"peer", defaultOnly, defaultOnly, "", "there are no peered clusters"},
	{"sg", defaultOnly, defaultOnly, "", "there are no sameness groups"},
	{"sameness-group", defaultOnly, defaultOnly, "", "there are no sameness groups; consul/api's spelling"},
	{"filter", defaultOnly, defaultOnly, "", "what is not filtered would be a wrong answer"},
}

// foreign takes a query name that is not one of the endpoint's, or refuses it.
func (r *rules) foreign(name, value string) error {
	i := slices.IndexFunc(foreignNames, func(f foreignName) bool { return f.name == name })
	if i < 0 || !r.consul {
		return r.unknown(name)
	}
	f := &foreignNames[i]
	how := f.reads
	if r.writes {
		how = f.writes
	}
	switch {
	case how == refused:
		return r.unknown(name)
	case how == ignored:
		return nil
	}
	value, err := unescape(value)
	if err != nil {
		return err
	}
	if value != "" && value != f.usual {
		return service.Invalid("`%s=%.80s`: %s: leave it out%s", name, value, f.why, r.unchanged())
	}
	return nil
}

// unknown refuses a query name, and suggests the name that was probably meant.
func (r *rules) unknown(name string) error {
	takes := "which takes none"
	if r.known != 0 {
		takes = "which takes " + r.known.list("and")
	}
	return service.Invalid("unknown query name %.80q on a %s, %s%s%s", name, r.what, takes,
		meant(name, r.known.texts(), "`"), r.unchanged())
}

func (r *rules) unchanged() string {
	if r.writes {
		return ": nothing was changed"
	}
	return ""
}

// meant asks for the names that are closest to the unknown one. It returns "" if none is close.
func meant(unknown string, names []string, quote string) string {
	if len(unknown) > maxMeant {
		return ""
	}
	found := suggest.Nearest(unknown, names)
	if len(found) == 0 {
		return ""
	}
	return ": did you mean " + quote + strings.Join(found, quote+" or "+quote) + quote + "?"
}

// maxMeant is how long a name may be to be compared: a longer one is no slip, and costs time.
const maxMeant = 40
