package web

import (
	"unicode/utf8"

	"tenure/api"
	"tenure/server/service"
)

// rules say which query names a request may have.
type rules struct {
	what     string     // for messages
	known    names      // others are refused, except those of foreign.go
	writes   bool       // the request changes something
	consul   bool       // the endpoint is Consul's, so that its clients call it
	beats    [][2]names // in Consul the second have no effect beside the first
	exclude  [][2]names // pairs of sets: at most one name of both together
	needs    [][2]names // the first is senseless without one of the second
	needsKey names      // the empty key is only for requests with one of these
}

var (
	readRules = rules{
		what:   "read",
		consul: true,
		known: nRaw | nRecurse | nKeys | nCount | nSeparator | nStart | nLimit | nReverse | nStale | nConsistent |
			nIndex | nWait | nDetails | nCommon,
		beats:   [][2]names{{nKeys, nRecurse | nRaw}, {nRecurse, nRaw | nSeparator}},
		exclude: [][2]names{{nRaw | nRecurse | nKeys, nCount}, {nStale, nConsistent}},
		needs: [][2]names{
			{nSeparator, nKeys}, {nStart | nLimit | nReverse, nRecurse | nKeys},
			{nDetails, nKeys}, {nDetails, nLimit},
		},
		needsKey: nRecurse | nKeys | nCount,
	}
	putRules = rules{
		what:    "PUT",
		consul:  true,
		writes:  true,
		known:   nCas | nFlags | nAcquire | nRelease | nTTL | nFence | nCommon,
		exclude: [][2]names{{nCas, nAcquire | nRelease}, {nAcquire, nRelease}},
	}
	deleteRules = rules{
		what:     "DELETE",
		consul:   true,
		writes:   true,
		known:    nRecurse | nCas | nFence | nCommon,
		exclude:  [][2]names{{nRecurse, nCas}},
		needsKey: nRecurse,
	}
	postRules    = rules{what: "POST", known: nFence | nCommon, writes: true}
	sessionRules = rules{
		what:    "read",
		consul:  true,
		known:   nStale | nConsistent | nIndex | nWait | nDetails | nCommon,
		exclude: [][2]names{{nStale, nConsistent}},
	}
	// A transaction is always linearizable, so clients that send a read mode with it get at least that mode.
	txnRules = rules{
		what:   "transaction",
		consul: true,
		writes: true,
		known:  nFence | nStale | nConsistent | nIndex | nWait | nCommon,
	}
	// A snapshot has every write that was acknowledged before: consul snapshot save may send read modes with it.
	snapshotRules  = rules{what: "read", consul: true, known: nStale | nConsistent | nCommon}
	fenceReadRules = rules{what: "read", known: nStale | nConsistent | nCommon, exclude: [][2]names{{nStale, nConsistent}}}
	fenceDropRules = rules{what: "write", writes: true, known: nFloor | nCommon}
	quotaReadRules = rules{what: "read", known: nStale | nConsistent | nCommon,
		exclude: [][2]names{{nStale, nConsistent}}}
	watchRules  = rules{what: "watch", known: nPrefix | nIndex | nCommon}
	leasesRules = rules{what: "read", known: nPrefix | nStart | nLimit | nCommon}
	// For endpoints that take no names of their own: Consul's, and ours.
	consulRules      = rules{what: "read", consul: true, known: nCommon}
	tokenReadRules   = rules{what: "read", consul: true, known: nExpanded | nCommon}
	tokenListRules   = rules{what: "read", consul: true, known: nPolicy | nCommon}
	consulWriteRules = rules{what: "write", consul: true, writes: true, known: nCommon}
	aclChangeRules   = rules{what: "write", consul: true, writes: true, known: nCas | nCommon}
	plainRules       = rules{what: "read", known: nCommon}
	plainWriteRules  = rules{what: "write", writes: true, known: nCommon}
	probeRules       = rules{what: "probe"} // the health checks and /metrics
)

// check drops the names that have no effect beside others, and refuses contradictions, naming both sides.
func (r *rules) check(q *query) error {
	for _, p := range r.beats {
		if q.has(p[0]) {
			q.seen &^= p[1]
		}
	}
	for _, p := range r.exclude {
		if a, b := q.seen&p[0], q.seen&p[1]; a != 0 && b != 0 {
			return service.Invalid("%s contradict each other: give one of them", (a | b).list("and"))
		}
	}
	for _, p := range r.needs {
		if a := q.seen & p[0]; a != 0 && q.seen&p[1] == 0 {
			return service.Invalid("%s on its own means nothing: it goes with %s", a.list("and"), p[1].list("or"))
		}
	}
	return nil
}

// checkKey refuses what can be no key, or no prefix if q lists.
func (r *rules) checkKey(key string, q *query) error {
	switch {
	case key == "" && !q.has(r.needsKey):
		return service.Invalid("the key is empty: name one after %s, or list keys with `keys` or `recurse`", api.PathKV)
	case len(key) > api.MaxKeyBytes:
		return service.Invalid("the key has %d bytes: at most %d are allowed", len(key), api.MaxKeyBytes)
	case !utf8.ValidString(key):
		return service.Invalid("the key is not UTF-8: encode its bytes as UTF-8 before percent-encoding them")
	}
	return nil
}
