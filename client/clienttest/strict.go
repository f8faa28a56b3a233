package clienttest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// decode reads JSON as nodes do: a member that v does not have is an error.
func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// queryNames are what each kind of request takes, by method and the beginning of the path; the first row that fits counts.
var queryNames = []struct{ method, prefix, names string }{
	{http.MethodGet, leaseList, "prefix start limit"},
	{http.MethodGet, kvPath, "raw recurse keys count separator start limit reverse stale consistent index wait"},
	{http.MethodPut, kvPath, "cas flags acquire release ttl fence"},
	{http.MethodDelete, kvPath, "recurse cas fence"},
	{http.MethodPost, kvPath, "fence"},
	{http.MethodPut, txnPath, "fence stale consistent index wait"},
	{http.MethodGet, sessionPath, "stale consistent index wait details"},
	{http.MethodGet, "/v1/fence/", "stale consistent"},
	{http.MethodGet, watchPath, "prefix index"},
}

// unknownName returns a query name that a node would refuse, or nothing.
func unknownName(r *http.Request) string {
	var known []string
	for _, k := range queryNames {
		if k.method == r.Method && strings.HasPrefix(r.URL.Path, k.prefix) {
			known = strings.Fields(k.names)
			break
		}
	}
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}
