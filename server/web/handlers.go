package web

import "tenure/server/service"

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

// newHandlers wires the handlers to what each uses. addr is where the server listens.
func newHandlers(cfg Config, b *service.Service, m *metrics, w *waits, addr func() string) *handlers {
	in := &bodies{timeout: cfg.HeaderTimeout + cfg.BodyTimeout, maxValue: cfg.MaxValueBytes}
	writes := &writes{revision: b.Revision}
	name := func() string { return nodeName(cfg.NodeName, b) }
	m.node = name
	return &handlers{
		kv:  &kvHandler{writes: writes, waits: w, bodies: in, maxValueBytes: cfg.MaxValueBytes},
		txn: &txnHandler{writes: writes, bodies: in, maxValueBytes: cfg.MaxValueBytes},
		session: &sessionHandler{writes: writes, waits: w, bodies: in,
			nodeName: name, minTTL: cfg.SessionTTLMin},
		lease: &leaseHandler{bodies: in, waits: w, maxTTL: cfg.MaxLeaseTime},
		fence: &fenceHandler{writes: writes},
		quota: &quotaHandler{writes: writes, bodies: in},
		watch: &watchHandler{waits: w, open: &m.streams,
			heartbeat: cfg.Heartbeat, timeout: cfg.EventTimeout},
		transfer: &transferHandler{cluster: b, bodies: in},
		members:  &membersHandler{bodies: in},
		backup:   &backupHandler{writes: writes, piece: cfg.EventTimeout, sent: &m.backupSent},
		upgrade:  &upgradeHandler{bodies: in},
		operator: &operatorHandler{version: cfg.Version},
		status:   &statusHandler{cluster: b},
		agent: &agentHandler{cluster: b, name: name, addr: addr,
			version: cfg.Version, revision: cfg.Revision, minTTL: cfg.SessionTTLMin},
		acl:     &aclHandler{writes: writes, bodies: in},
		health:  &healthHandler{node: b},
		metrics: m,
	}
}
