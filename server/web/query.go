package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenure/api"
	"tenure/internal/days"
	"tenure/kv"
	"tenure/server/service"
)

// names is a set of query names.
type names uint32

const (
	nRaw names = 1 << iota
	nRecurse
	nKeys
	nCount
	nSeparator
	nStart
	nLimit
	nReverse
	nStale
	nConsistent
	nIndex
	nWait
	nCas
	nFlags
	nAcquire
	nRelease
	nTTL
	nFence
	nPrefix
	nDetails
	nExpanded
	nPolicy
	nFloor
	nPretty
	nToken
	nDC
	nNS
)

// nameTexts is in the order of the constants.
var nameTexts = [...]string{api.QueryRaw, api.QueryRecurse, api.QueryKeys, api.QueryCount, api.QuerySeparator,
	api.QueryStart, api.QueryLimit, api.QueryReverse, api.QueryStale, api.QueryConsistent, api.QueryIndex,
	api.QueryWait, api.QueryCAS,
	api.QueryFlags, api.QueryAcquire, api.QueryRelease, api.QueryTTL, api.QueryFence, api.QueryPrefix, api.QueryDetails,
	api.QueryExpanded, api.QueryPolicy, api.QueryFloor,
	api.QueryPretty, api.QueryToken, api.QueryDC, api.QueryNS}

const (
	nCommon  = nPretty | nToken | nDC | nNS
	nSwitch  = nRaw | nRecurse | nKeys | nCount | nReverse | nStale | nConsistent | nDetails | nExpanded
	nNumbers = nIndex | nCas | nFlags | nFloor
)

func nameOf(s string) names {
	for i, t := range nameTexts {
		if s == t {
			return 1 << i
		}
	}
	return 0
}

// texts returns the names of n.
func (n names) texts() (list []string) {
	for i, t := range nameTexts {
		if n&(1<<i) != 0 {
			list = append(list, t)
		}
	}
	return list
}

// list writes the names of n as in "`acquire`, `cas` and `flags`", with the word between the last two.
func (n names) list(word string) string {
	parts := n.texts()
	for i := range parts {
		parts[i] = "`" + parts[i] + "`"
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + word + " " + parts[len(parts)-1]
}

// query is a request's query string, understood.
type query struct {
	seen      names
	cas       uint64
	flags     uint64
	floor     uint64 // of a kind of fences
	index     uint64
	limit     int // 0: none
	separator string
	start     string
	prefix    string        // on endpoints that take one in the query
	policy    string        // ID of one
	session   string        // of acquire or release
	fence     string        // without its token
	token     uint64        // of the fence
	duration  time.Duration // wait, or ttl
}

func (q *query) has(n names) bool { return q.seen&n != 0 }

func (q *query) mode() service.Mode {
	switch {
	case q.has(nStale):
		return service.Stale
	case q.has(nConsistent):
		return service.Consistent
	}
	return service.Default
}

// parseQuery reads raw by the rules of one endpoint. It works on the string itself, without a map: most requests
// have one name or none. Its error has a code.
func parseQuery(raw string, rules *rules) (query, error) {
	var q query
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		if err := q.add(pair, rules); err != nil {
			return q, err
		}
	}
	if q.seen == 0 {
		return q, nil
	}
	return q, rules.check(&q)
}

func (q *query) add(pair string, rules *rules) error {
	name, value, _ := strings.Cut(pair, "=")
	if strings.IndexByte(name, ';') >= 0 {
		return service.Invalid("bad query %q: separate its names by &, not by a semicolon", pair)
	}
	name, err := unescape(name)
	if err != nil {
		return err
	}
	n := nameOf(name) & rules.known
	if n == 0 {
		return rules.foreign(name, value)
	}
	if q.seen&n != 0 {
		return service.Invalid("query name `%s` is given twice", name)
	}
	if value, err = unescape(value); err != nil {
		return err
	}
	q.seen |= n
	return q.set(n, name, value)
}

// set stores the value of n. A switch counts by being there; `recurse=false` is refused rather than guessed at.
func (q *query) set(n names, name, value string) error {
	switch {
	case n&nSwitch != 0:
		if on, err := strconv.ParseBool(value); value != "" && (err != nil || !on) {
			return service.Invalid("`%s=%s`: `%s` takes no value; leave it out if it is not meant", name, value, name)
		}
	case n&nNumbers != 0:
		u, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return service.Invalid("`%s=%s`: must be a number from 0 to %d", name, value, uint64(1<<64-1))
		}
		switch n {
		case nIndex:
			q.index = u
		case nCas:
			q.cas = u
		case nFlags:
			q.flags = u
		case nFloor:
			q.floor = u
		}
	case n == nLimit:
		l, err := strconv.Atoi(value)
		if err != nil || l < 1 {
			return service.Invalid("`limit=%s`: must be a number of at least 1", value)
		}
		q.limit = l
	case n == nSeparator:
		q.separator = value
	case n == nStart:
		q.start = value
	case n == nPrefix:
		q.prefix = value
	case n == nPolicy:
		q.policy = value
	case n == nAcquire || n == nRelease:
		q.session = value
	case n == nWait:
		return q.setWait(value)
	case n == nTTL:
		return q.setTTL(value)
	case n == nFence:
		return q.setFence(value)
	case n == nDC && value != "" && value != Datacenter:
		return refuse(http.StatusInternalServerError, api.CodeInvalid, "No path to datacenter")
	case n == nNS && value != "" && value != "default":
		return service.Invalid("`ns=%s`: there are no namespaces but `default`", value)
	}
	return nil
}

// setWait reads how long a blocking query may wait. As in Consul nothing and less than nothing mean the default.
func (q *query) setWait(value string) error {
	d, err := days.ParseSigned(value)
	if err != nil && value != "" {
		return service.Invalid("`wait=%s`: Invalid wait time: write it with its unit, like 30s or 5m", value)
	}
	q.duration = d
	return nil
}

func (q *query) setTTL(value string) error {
	d, err := parseTTL(value)
	q.duration = d
	return err
}

// parseTTL reads how long a key is to live.
func parseTTL(value string) (time.Duration, error) {
	d, err := days.ParseSigned(value)
	if err != nil || d < api.MinKeyTTL || d > kv.MaxTTL {
		return 0, service.Invalid("ttl %q: must be a time from %v to %dd (50 years), with its unit, like 30s or 5m; "+
			"for a key that stays leave it out", value, api.MinKeyTTL, kv.MaxTTL/(24*time.Hour))
	}
	return d, nil
}

// setFence reads NAME:TOKEN.
func (q *query) setFence(value string) (err error) {
	if q.fence, q.token, err = kv.ParseFence(value); err != nil {
		return service.Invalid("`fence=%s`: %v", value, err)
	}
	return checkFence(q.fence)
}

func checkFence(name string) error {
	if err := kv.ValidateFence(name); err != nil {
		return service.Invalid("fence %q: must be lease/NAME or kv/KEY, each of 1 to %d bytes of UTF-8",
			name, api.MaxKeyBytes)
	}
	return nil
}

func unescape(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, nil
	}
	u, err := url.QueryUnescape(s)
	if err != nil {
		return "", service.Invalid("bad query: %v", err)
	}
	return u, nil
}
