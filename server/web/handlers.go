package web

// handlers holds the handler of each resource.
type handlers struct {
	kv       *kvHandler
	txn      *txnHandler
	session  *sessionHandler
	lease    *leaseHandler
	fence    *fenceHandler
	quota    *quotaHandler
	watch    *watchHandler
	transfer *transferHandler
	members  *membersHandler
	backup   *backupHandler
	upgrade  *upgradeHandler
	operator *operatorHandler
	status   *statusHandler
	agent    *agentHandler
	acl      *aclHandler
	health   *healthHandler
	metrics  *metrics
}

// newHandlers wires the handlers to the parts of b that each uses. addr is where the server listens.
func newHandlers(cfg Config, b Backend, m *metrics, w *waits, addr func() string) *handlers {
	in := &bodies{timeout: cfg.HeaderTimeout + cfg.BodyTimeout}
	reads := &reads{store: b, local: b}
	writes := &writes{store: b, revision: func() uint64 { return b.Status().Revision }}
	name := func() string { return nodeName(cfg.NodeName, b) }
	m.node = name
	return &handlers{
		kv:  &kvHandler{reads: reads, writes: writes, waits: w, bodies: in, maxValueBytes: cfg.MaxValueBytes},
		txn: &txnHandler{writes: writes, bodies: in, maxValueBytes: cfg.MaxValueBytes},
		session: &sessionHandler{reads: reads, writes: writes, waits: w, bodies: in,
			nodeName: name, minTTL: cfg.SessionTTLMin},
		lease: &leaseHandler{leases: b, bodies: in, waits: w, maxTTL: cfg.MaxLeaseTime},
		fence: &fenceHandler{reads: reads, writes: writes},
		quota: &quotaHandler{reads: reads, writes: writes, bodies: in},
		watch: &watchHandler{reads: reads, waits: w, open: &m.streams,
			heartbeat: cfg.Heartbeat, timeout: cfg.EventTimeout},
		transfer: &transferHandler{cluster: b, bodies: in},
		members:  &membersHandler{members: b, bodies: in},
		backup:   &backupHandler{backups: b, writes: writes, piece: cfg.EventTimeout, sent: &m.backupSent},
		upgrade:  &upgradeHandler{upgrades: b, bodies: in},
		operator: &operatorHandler{members: b, version: cfg.Version},
		status:   &statusHandler{cluster: b},
		agent: &agentHandler{cluster: b, name: name, addr: addr,
			version: cfg.Version, revision: cfg.Revision, minTTL: cfg.SessionTTLMin},
		acl:     &aclHandler{decider: cfg.Access, writes: writes, bodies: in},
		health:  &healthHandler{node: b},
		metrics: m,
	}
}
