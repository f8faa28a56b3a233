package web

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"tenure/api"
	"tenure/server/members"
	"tenure/server/service"
)

// route is a row of the table of routes.
type route struct {
	// path is as in openapi.json. What stands in braces is any text, also an empty one and one with slashes: keys and
	// the names of leases have some.
	path     string
	name     string // in metrics
	use      use
	handlers map[string]handler
}

// use is a set of what is special about a route.
type use uint16

const (
	ordinary use = 0
	// mends: people need it to see and mend an overloaded node, so that places are kept for it. To mend it may mean to
	// end the token that floods it.
	mends     use = 1 << (iota - 1)
	tokenless     // answers anybody, whether there are tokens or not. (The first token is asked for without one, too.)
	scraped       // has a place kept for whoever has agent:read or operator:read
	watched       // those who watch over the node have it at the port for health checks too
	exported      // its GET takes everything out of the cluster, which is an administrative act
	paged         // it is of the web page
	releases      // gives back what others wait for: it has a reserve
	unlocks       // releases, if the query asks for that
	asks          // its POST changes nothing
)

// keysPath is the path of all keys, without the slash, as Consul's clients send it. It stands for the empty key.
var keysPath = strings.TrimSuffix(api.PathKV, "/")

// table is the whole API. The first route whose path matches answers, whatever the method, so that a 405 can name all
// methods. A path that ends in /acquire, /renew or /release is a command on a lease only for POST. For other methods it
// is the name of a lease.
func (h *handlers) table() []route {
	type methods = map[string]handler
	keys := methods{"GET": h.kv.get, "PUT": h.kv.put, "DELETE": h.kv.delete, "POST": h.kv.post}
	return []route{
		{api.PathKV + "{key}", "kv", unlocks, keys},
		{keysPath, "kv", ordinary, keys},
		{api.PathTxn, "txn", ordinary, methods{"PUT": h.txn.run}},

		{api.PathSessionCreate, "session-create", ordinary, methods{"PUT": h.session.create}},
		{api.PathSessionDestroy + "{id}", "session-destroy", releases, methods{"PUT": h.session.destroy}},
		{api.PathSessionRenew + "{id}", "session-renew", ordinary, methods{"PUT": h.session.renew}},
		{api.PathSessionInfo + "{id}", "session-info", ordinary, methods{"GET": h.session.info}},
		{api.PathSessionNode + "{node}", "session-node", ordinary, methods{"GET": h.session.ofNode}},
		{api.PathSessionList, "session-list", ordinary, methods{"GET": h.session.list}},

		{api.PathLease + "{name}" + api.LeaseAcquire, "lease-acquire", ordinary, methods{"POST": h.lease.command(api.LeaseAcquire)}},
		{api.PathLease + "{name}" + api.LeaseRenew, "lease-renew", ordinary, methods{"POST": h.lease.command(api.LeaseRenew)}},
		{api.PathLease + "{name}" + api.LeaseRelease, "lease-release", releases, methods{"POST": h.lease.command(api.LeaseRelease)}},
		{api.PathLease + "{name}", "lease-show", ordinary, methods{"GET": h.lease.show}},
		{api.PathLeasesRenew, "leases-renew", ordinary, methods{"POST": h.lease.renewMany}},
		{api.PathLeases, "leases-list", ordinary, methods{"GET": h.lease.list}},

		{api.PathACLBootstrap, "acl-bootstrap", ordinary, methods{"PUT": h.acl.bootstrap}},
		{api.PathACLTokenSelf, "acl-token-self", ordinary, methods{"GET": h.acl.self}},
		{api.PathACLTokens + "{id}" + api.ACLClone, "acl-token-clone", ordinary, methods{"PUT": h.acl.cloneToken}},
		{api.PathACLTokens + "{id}", "acl-token", mends, methods{"GET": h.acl.readToken, "PUT": h.acl.updateToken,
			"DELETE": h.acl.deleteToken}},
		{api.PathACLToken, "acl-token-create", ordinary, methods{"PUT": h.acl.createToken}},
		{api.PathACLTokenList, "acl-tokens", mends, methods{"GET": h.acl.listTokens}},
		{api.PathACLPolicyName + "{name}", "acl-policy-name", ordinary, methods{"GET": h.acl.readPolicyByName}},
		{api.PathACLPolicies + "{id}", "acl-policy", ordinary, methods{"GET": h.acl.readPolicy, "PUT": h.acl.updatePolicy,
			"DELETE": h.acl.deletePolicy}},
		{api.PathACLPolicy, "acl-policy-create", ordinary, methods{"PUT": h.acl.createPolicy}},
		{api.PathACLPolicyList, "acl-policies", ordinary, methods{"GET": h.acl.listPolicies}},
		{api.PathACLUses, "acl-uses", asks, methods{"POST": h.acl.uses}},
		{api.PathACLAuthorize, "acl-authorize", asks, methods{"POST": h.acl.authorize}},

		{api.PathFence + "{name}", "fence", ordinary, methods{"GET": h.fence.get, "DELETE": h.fence.drop}},
		{api.PathQuotas, "quotas", ordinary, methods{"GET": h.quota.list}},
		{api.PathQuota + "{prefix}", "quota", ordinary, methods{"GET": h.quota.get, "PUT": h.quota.put, "DELETE": h.quota.drop}},
		{api.PathWatch, "watch", ordinary, methods{"GET": h.watch.stream}},

		{api.PathMembers, "members", mends, methods{"GET": h.members.list}},
		{api.PathMembersAdd, "members-add", mends, methods{"POST": h.members.change(members.Add,
			"name", "peer_address", "client_address", "store", "non_voter")}},
		{api.PathMembersRemove, "members-remove", mends, methods{"POST": h.members.change(members.Remove,
			"node", "force_quorum_loss", "differs")}},
		{api.PathMembersReplace, "members-replace", mends, methods{"POST": h.members.change(members.Replace, "node", "by")}},
		{api.PathMembersPromote, "members-promote", mends, methods{"POST": h.members.change(members.Promote, "node")}},
		{api.PathMembersUpdate, "members-update", mends, methods{"POST": h.members.change(members.Update,
			"node", "name", "peer_address", "client_address")}},
		{api.PathMembersReadmit, "members-readmit", mends, methods{"POST": h.members.change(members.Readmit, "name")}},
		{api.PathMembersCancel, "members-cancel", mends, methods{"POST": h.members.cancel}},
		{api.PathMembersDrain, "members-drain", mends, methods{"POST": h.members.drain}},
		{api.PathBackup, "backup", exported, methods{"GET": h.backup.stream}},
		{api.PathSnapshot, "snapshot", exported, methods{"GET": h.backup.snapshot, "PUT": h.backup.restore}},
		{api.PathUpgradeFinish, "upgrade-finish", ordinary, methods{"POST": h.upgrade.finish}},
		{api.PathUpgrade, "upgrade", ordinary, methods{"GET": h.upgrade.show}},
		{api.PathCatalogNodes, "catalog-nodes", ordinary, methods{"GET": h.operator.nodes}},
		{api.PathRaft, "raft-configuration", ordinary, methods{"GET": h.operator.raft}},
		{api.PathAutopilot, "autopilot-health", ordinary, methods{"GET": h.operator.health}},

		{api.PathTransfer, "master-transfer", mends, methods{"POST": h.transfer.transfer}},
		{api.PathStatus, "status", mends | tokenless, methods{"GET": h.status.show}},
		{api.PathHistory, "history", mends | tokenless, methods{"GET": h.status.history}},
		{api.PathReports, "reports", tokenless, methods{"GET": h.status.reports}},
		{api.PathStatusLeader, "status-leader", mends | tokenless, methods{"GET": h.status.leader}},
		{api.PathStatusPeers, "status-peers", mends | tokenless, methods{"GET": h.status.peers}},
		{api.PathAgentSelf, "agent-self", ordinary, methods{"GET": h.agent.self}},
		{api.PathHealthLive, "health-live", mends | tokenless | watched, methods{"GET": h.health.live}},
		{api.PathHealthReady, "health-ready", mends | tokenless | watched, methods{"GET": h.health.ready}},
		{api.PathMetrics, "metrics", scraped | watched, methods{"GET": h.metrics.show}},
		{api.PathOpenAPI, "openapi", tokenless, methods{"GET": openAPI}},
		{pagePath, pageRoute, mends | tokenless | paged, methods{"GET": toPage}},
		{api.PathUI + "{file}", pageRoute, mends | tokenless | paged, methods{"GET": page}},
	}
}

// newRouter routes the requests of a table, and answers others by none. Of mux it has the list of routes with their
// methods, and paths that stay as they are. Its patterns would run regular expressions, twice, and its ServeHTTP would
// copy each request twice for mux.Vars and mux.CurrentRoute, which nothing here reads.
func newRouter(table []route, none func(path string) error, d *dispatcher) http.Handler {
	m := mux.NewRouter().SkipClean(true) // keys hold // and .. as they are
	nowhere := newEndpoint("none", nil, d.metrics)
	nowhere.none = none
	m.NotFoundHandler = d.handle(nowhere)
	for _, r := range table {
		if r.use&paged != 0 {
			nowhere.use = paged | tokenless // a person at the bare address is led to the page
		}
		match, narrow := matcherOf(r.path)
		e := newEndpoint(r.name, r.handlers, d.metrics)
		e.use = r.use
		row := m.MatcherFunc(match).Handler(d.handle(e))
		if narrow {
			row.Methods(slices.Collect(maps.Keys(r.handlers))...)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var match mux.RouteMatch
		m.Match(r, &match) // always: there is a NotFoundHandler
		match.Handler.ServeHTTP(w, r)
	})
}

// slashes are several of them in a row.
var slashes = regexp.MustCompile("//+")

// maxMeantAt is in front of how many slashes of a path the path of a route is looked for.
const maxMeantAt = 8

// meantPath returns a function for paths that no route matches: it returns the end of one at which a route does,
// without doubled slashes, and if need be in small letters. Of "//v1/kv/a" and of "/proxy/v1/kv/a" that is "/v1/kv/a".
func meantPath(table []route) func(path string) string {
	var matches []mux.MatcherFunc
	for i := range table {
		match, _ := matcherOf(table[i].path)
		matches = append(matches, match)
	}
	end := func(path string) string {
		for range maxMeantAt {
			r := http.Request{URL: &url.URL{Path: path}}
			if slices.ContainsFunc(matches, func(match mux.MatcherFunc) bool { return match(&r, nil) }) {
				return path
			}
			next := strings.IndexByte(path[min(1, len(path)):], '/')
			if next < 0 {
				break
			}
			path = path[1+next:]
		}
		return ""
	}
	return func(path string) string {
		path = slashes.ReplaceAllString(path, "/")
		return cmp.Or(end(path), end(strings.ToLower(path)))
	}
}

// noEndpoint refuses a path that no route matches. To clients of Consul 404 says that there is no such key, session,
// token or policy. So a path that was probably meant as one of these is a bad request: the base address, for example in
// CONSUL_HTTP_ADDR, has an extra slash or path. Other clients use 404 to find the existing endpoints, and
// consul-template looks for the words "Invalid URL path".
func noEndpoint(path, meant string) error {
	if meant != "" {
		return service.Invalid("%.80q is not a path of the API, %.80q is: is there a slash or a path too much in the address "+
			"of the server?: nothing was read or changed", path, meant)
	}
	return refuse(http.StatusNotFound, api.CodeInvalid, "Invalid URL path: no such endpoint: keys are under "+api.PathKV+
		", the node's state under "+api.PathStatus+", a description of all under "+api.PathOpenAPI+
		", and a page for browsers under "+api.PathUI)
}

// matcherOf returns what matches a path of the table, and whether it ends in a word behind the braces.
func matcherOf(path string) (match mux.MatcherFunc, narrow bool) {
	before, rest, named := strings.Cut(path, "{")
	_, after, _ := strings.Cut(rest, "}")
	if !named {
		return func(r *http.Request, _ *mux.RouteMatch) bool { return r.URL.Path == path }, false
	}
	return func(r *http.Request, _ *mux.RouteMatch) bool {
		p := r.URL.Path
		return len(p) >= len(before)+len(after) && strings.HasPrefix(p, before) && strings.HasSuffix(p, after)
	}, after != ""
}
