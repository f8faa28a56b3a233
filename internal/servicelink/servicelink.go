// Package servicelink knows the environment variables that Kubernetes sets in each pod for every Service of its name
// space, and that Docker set for links. For a Service called kvnode they look like settings of kvnode.
package servicelink

import (
	"regexp"
	"strings"
)

var rest = regexp.MustCompile(
	`^(|.*_)(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?|PORT)$`)

// Is reports whether Kubernetes sets a variable of that name and value. For a Service kvnode it sets
// KVNODE_SERVICE_HOST and KVNODE_PORT=tcp://10.0.0.1:8500, among others, and for a Service kvnode-peers
// KVNODE_PEERS_PORT. name comes without the prefix of the program's own variables.
func Is(name, value string) bool {
	m := rest.FindStringSubmatch(name)
	return m != nil && (m[2] != "PORT" || strings.Contains(value, "://"))
}
