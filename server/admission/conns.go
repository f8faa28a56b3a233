package admission

import (
	"net"
	"sync"
	"sync/atomic"
)

// Conns knows the open connections of a listener, and decides who may open another.
type Conns struct {
	limits  Limits
	reached *reached

	mu       sync.Mutex
	ordinary int // open connections that are not reserved ones
	sources  map[Source]*source
	reserved reserve
	inFlight atomic.Int64 // requests, of all connections
}

// source counts the connections and requests of one source. It is forgotten with its last connection, so there are
// never more sources than connections.
type source struct {
	conns     int // ordinary ones
	reserved  int // that have a place
	inFlight  atomic.Int64
	refusing  atomic.Int64 // refusals that wait before they are sent
	answering atomic.Int64 // bytes of large answers that were not taken yet
}

// Conn is a connection that was let in.
type Conn struct {
	// Source is the connection's source. Client is the client for which it counts until a request names another.
	Source Source
	Client Client

	own    *source
	closer net.Conn // closed to end a reserved connection early
	place  *place   // nil: an ordinary connection
}

// Client is the unit for which waits and rates are counted.
type Client struct {
	// Key tells clients apart: a source in text, or a protocol's own identity of the client, such as a token's
	// accessor.
	Key string
	// Free exempts this client from the bounds for each client.
	Free bool
}

// Holding returns the client c as the holder of a token, from whichever address it comes.
func (c Client) Holding(accessor string) Client {
	c.Key = "token " + accessor
	return c
}

// NewConns returns the Conns of a listener on which nothing is open. limits are valid.
func NewConns(limits Limits, m *Metrics) *Conns {
	c := &Conns{limits: limits.WithDefaults(), reached: &m.reached, sources: map[Source]*source{}}
	c.reserved = newReserve(c.limits.Reserved)
	m.watch(c)
	return c
}

// Admit admits the connection nc, or returns nil if there are too many: then the caller closes nc. When nc has ended,
// in any way, the caller calls Release. Conns closes nc if it is a reserved connection that has to end early.
func (c *Conns) Admit(nc net.Conn) *Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.newConn(nc)
	if c.addOrdinary(conn) {
		return conn
	}
	if !c.reserved.add(conn) {
		c.reached.reserved.Inc()
		return nil
	}
	c.sources[conn.Source] = conn.own
	return conn
}

// AdmitOrdinary is Admit for a protocol without requests of operators: it neither makes conn a reserved connection nor
// closes one for it.
func (c *Conns) AdmitOrdinary(nc net.Conn) *Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.newConn(nc); c.addOrdinary(conn) {
		return conn
	}
	return nil
}

// newConn returns a connection that has no place yet. The caller holds mu.
func (c *Conns) newConn(nc net.Conn) *Conn {
	from := SourceOf(nc.RemoteAddr())
	own := c.sources[from]
	if own == nil {
		own = &source{}
	}
	return &Conn{Source: from, Client: c.limits.ClientOf(from), own: own, closer: nc}
}

// addOrdinary makes conn an ordinary connection, unless there are too many, and reports whether it did. The caller
// holds mu.
func (c *Conns) addOrdinary(conn *Conn) bool {
	switch {
	case c.ordinary >= c.limits.Conns-c.limits.Reserved:
		c.reached.conns.Inc()
	case !c.limits.free(conn.Source) && conn.own.conns >= c.limits.ConnsPerSource:
		c.reached.sourceConns.Inc()
	default:
		c.ordinary++
		conn.own.conns++
		c.sources[conn.Source] = conn.own
		return true
	}
	return false
}

// Release forgets a connection that has ended.
func (c *Conns) Release(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.place != nil {
		c.reserved.remove(conn)
	} else {
		c.ordinary--
		conn.own.conns--
	}
	if conn.own.conns+conn.own.reserved == 0 && c.sources[conn.Source] == conn.own {
		delete(c.sources, conn.Source)
	}
}

// Asked notes that a whole request has come on conn. From then on it is not ended in favour of another.
func (c *Conns) Asked(conn *Conn) {
	if conn.place == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved.asked(conn)
}

// Reserved reports whether conn is reserved for operators: it answers one request, and only an operator's.
func (conn *Conn) Reserved() bool { return conn.place != nil }

// free reports whether the bounds for each source do not apply to s.
func (l *Limits) free(s Source) bool { return s.Loopback() && !l.Loopback }

// ClientOf returns the client for a source without a known token.
func (l Limits) ClientOf(s Source) Client { return Client{Key: s.String(), Free: l.free(s)} }
