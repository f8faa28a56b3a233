package clienttest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"tenure/api"
)

// decode reads JSON as nodes do: a member that v does not have is an error.
func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// queryNames are what each kind of request takes, by method and the beginning of the path; the first row that fits
// counts.
var queryNames = []struct{ method, prefix, names string }{
	{http.MethodGet, api.PathLeases, "prefix start limit"},
	{http.MethodGet, api.PathKV, "raw recurse keys count separator start limit reverse stale consistent index wait"},
	{http.MethodPut, api.PathKV, "cas flags acquire release ttl fence"},
	{http.MethodDelete, api.PathKV, "recurse cas fence"},
	{http.MethodPost, api.PathKV, "fence"},
	{http.MethodPut, api.PathTxn, "fence stale consistent index wait"},
	{http.MethodGet, api.PathSession, "stale consistent index wait details"},
	{http.MethodGet, api.PathFence, "stale consistent"},
	{http.MethodGet, api.PathACLTokenList, "policy stale consistent"},
	{http.MethodGet, api.PathACLTokens, "expanded stale consistent"},
	{http.MethodGet, api.PathACL, "stale consistent"},
	{http.MethodGet, api.PathWatch, "prefix index"},
}

// unknownName returns a query name that a node would refuse, or nothing.
func unknownName(r *http.Request) string {
	var known []string
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, k := range queryNames {
		if k.method == method && strings.HasPrefix(r.URL.Path, k.prefix) {
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
