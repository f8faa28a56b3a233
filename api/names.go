package api

// The paths of the API. One that ends in a slash is followed by the name of what the request is about.
const (
	PathKV             = "/v1/kv/"
	PathTxn            = "/v1/txn"
	PathSession        = "/v1/session/" // of all that is about sessions
	PathSessionCreate  = "/v1/session/create"
	PathSessionDestroy = "/v1/session/destroy/"
	PathSessionRenew   = "/v1/session/renew/"
	PathSessionInfo    = "/v1/session/info/"
	PathSessionNode    = "/v1/session/node/"
	PathSessionList    = "/v1/session/list"
	PathFence          = "/v1/fence/"
	PathQuotas         = "/v1/quota"  // lists all
	PathQuota          = "/v1/quota/" // followed by the prefix
	PathWatch          = "/v1/watch"
	PathLease          = "/v1/lease/" // followed by the name, and a verb unless the lease is only shown
	PathLeases         = "/v1/leases"
	PathLeasesRenew    = "/v1/leases/renew"
	PathTransfer       = "/v1/master/transfer"
	PathMembers        = "/v1/members"
	PathMembersAdd     = "/v1/members/add"
	PathMembersRemove  = "/v1/members/remove"
	PathMembersReplace = "/v1/members/replace"
	PathMembersPromote = "/v1/members/promote"
	PathMembersUpdate  = "/v1/members/update"
	PathMembersReadmit = "/v1/members/readmit"
	PathMembersCancel  = "/v1/members/cancel"
	PathMembersDrain   = "/v1/members/drain"
	PathACL            = "/v1/acl/" // of all that is about tokens and policies
	PathACLBootstrap   = "/v1/acl/bootstrap"
	PathACLToken       = "/v1/acl/token"  // makes one
	PathACLTokens      = "/v1/acl/token/" // followed by the accessor
	PathACLTokenSelf   = "/v1/acl/token/self"
	PathACLTokenList   = "/v1/acl/tokens"
	PathACLUses        = "/v1/acl/uses"
	PathACLPolicy      = "/v1/acl/policy"  // makes one
	PathACLPolicies    = "/v1/acl/policy/" // followed by the id
	PathACLPolicyName  = "/v1/acl/policy/name/"
	PathACLPolicyList  = "/v1/acl/policies"
	PathACLAuthorize   = "/v1/internal/acl/authorize" // as Consul's own page asks
	PathBackup         = "/v1/backup"
	PathSnapshot       = "/v1/snapshot"
	PathUpgrade        = "/v1/upgrade"
	PathUpgradeFinish  = "/v1/upgrade/finish"
	PathStatus         = "/v1/status"
	PathHistory        = "/v1/history"
	PathReports        = "/v1/reports"
	PathStatusLeader   = "/v1/status/leader"
	PathStatusPeers    = "/v1/status/peers"
	PathAgentSelf      = "/v1/agent/self"
	PathCatalogNodes   = "/v1/catalog/nodes"
	PathRaft           = "/v1/operator/raft/configuration"
	PathAutopilot      = "/v1/operator/autopilot/health"
	PathOpenAPI        = "/v1/openapi.json"
	PathHealthLive     = "/health/live"
	PathHealthReady    = "/health/ready"
	PathMetrics        = "/metrics"
	PathUI             = "/ui/" // the web page: for people, and no part of the API
)

// The verbs that end the path of a request about one lease.
const (
	LeaseAcquire = "/acquire"
	LeaseRenew   = "/renew"
	LeaseRelease = "/release"
)

// ACLClone ends the path of a request that clones a token.
const ACLClone = "/clone"

// Header names, in the canonical form of net/http.
const (
	// HeaderIdempotencyKey goes with a write that is to be applied once, however often it is sent.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderBase goes with HeaderIdempotencyKey: a revision that the client had seen before its first try.
	HeaderBase = "X-Tenure-Base"
	// HeaderTimeoutMS says for how many milliseconds the client waits for the answer.
	HeaderTimeoutMS = "X-Tenure-Timeout-Ms"
	// HeaderCluster says for which cluster a request is: a node of another one refuses it with CodeOtherCluster.
	HeaderCluster = "X-Tenure-Cluster"
	// HeaderLastEventID is the id of the last event of a stream that broke off.
	HeaderLastEventID = "Last-Event-Id"

	// HeaderToken is the secret of the token for whom the request is made.
	HeaderToken = "X-Consul-Token"
	// HeaderAuthorization is the other way to say it, after BearerPrefix.
	HeaderAuthorization = "Authorization"
	// HeaderFiltered is "true" if something was left out of the answer that the token may not read.
	HeaderFiltered = "X-Consul-Results-Filtered-By-Acls"

	// HeaderIndex is the index of what was read, for the next blocking query. It is never 0.
	HeaderIndex = "X-Consul-Index"
	// HeaderKnownLeader says whether the node that was read from knows a master.
	HeaderKnownLeader = "X-Consul-Knownleader"
	// HeaderLastContact is for how many milliseconds the node that was read from has heard from no master. One that has
	// heard from none yet counts from its start.
	HeaderLastContact = "X-Consul-Lastcontact"
	// HeaderRevision is the store's revision: that of the write, or that of the state that was read.
	HeaderRevision = "X-Tenure-Index"
	// HeaderCount is how many keys a deletion by prefix has deleted.
	HeaderCount = "X-Tenure-Count"
	// HeaderDropped is "true" if an earlier copy has decided the write, and the body lacks what is not remembered of its
	// result. The status and what is left of the body say whether that copy was applied.
	HeaderDropped = "X-Tenure-Dropped"
	// HeaderNode is the number of the node, in every answer that is not a success.
	HeaderNode = "X-Tenure-Node"
	// HeaderMaster is the number of the master, as far as the node that answers knows one, in answers about what the
	// master may have to be asked for. It is a hint: a node that is not the master any more passes requests on.
	HeaderMaster = "X-Tenure-Master"
	// HeaderError is the Code of an answer that is not a success.
	HeaderError = "X-Tenure-Error"
	// HeaderDrained is "true" in a refusal if the node knows no master and will not become one, because it is drained
	// (PathMembersDrain).
	HeaderDrained = "X-Tenure-Drained"
	// HeaderRetryAfter is when to try again, in whole seconds.
	HeaderRetryAfter = "Retry-After"
	// HeaderRetryAfterMS is the same in milliseconds, where the node knows it that well.
	HeaderRetryAfterMS = "X-Tenure-Retry-After-Ms"
)

// BearerPrefix precedes the secret of a token in HeaderAuthorization.
const BearerPrefix = "Bearer "

// Query names.
const (
	QueryRaw        = "raw"
	QueryRecurse    = "recurse"
	QueryKeys       = "keys"
	QueryCount      = "count"
	QuerySeparator  = "separator"
	QueryStart      = "start"
	QueryLimit      = "limit"
	QueryReverse    = "reverse"
	QueryStale      = "stale"
	QueryConsistent = "consistent"
	QueryIndex      = "index"
	QueryWait       = "wait"
	QueryCAS        = "cas"
	QueryFlags      = "flags"
	QueryAcquire    = "acquire"
	QueryRelease    = "release"
	QueryTTL        = "ttl"
	QueryFence      = "fence"
	QueryPrefix     = "prefix"
	QueryDetails    = "details"
	QueryExpanded   = "expanded"
	QueryPolicy     = "policy"
	QueryFloor      = "floor" // of DELETE PathFence
	QueryPretty     = "pretty"
	QueryToken      = "token"
	QueryDC         = "dc"
	QueryNS         = "ns"
)
