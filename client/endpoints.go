package client

import (
	"net/url"
	"slices"
	"sync/atomic"
)

// endpoint is an address at which a node answers. Its address never changes, and it is the same as long as it is
// listed.
type endpoint struct {
	*url.URL
	given    bool        // in Config.Endpoints
	answered atomic.Bool // a node has answered there

	member      atomic.Uint64 // the number of the member that is there; 0: not known
	well        atomic.Bool   // a node of the cluster has answered there, and was of use since
	pausedUntil atomic.Int64  // by near.now: nothing goes there first because it is the master's
}

// place is where clients reach a member.
type place struct {
	url  *url.URL
	node uint64
}

// endpoints are the addresses that a Client uses. All methods are safe for concurrent use.
type endpoints struct {
	list      atomic.Pointer[[]*endpoint] // those given, in order, and then those learned; never changed in place
	preferred atomic.Pointer[endpoint]    // to try first
}

// newEndpoints returns the endpoints of a Config, which are valid.
func newEndpoints(given []string, scheme string) (*endpoints, error) {
	var list []*endpoint
	for _, text := range given {
		u, err := parseEndpoint(text, scheme)
		if err != nil {
			return nil, err
		}
		list = append(list, &endpoint{URL: u, given: true})
	}
	s := &endpoints{}
	s.list.Store(&list)
	s.preferred.Store(list[0])
	return s, nil
}

// all returns the endpoints. The list is shared.
func (s *endpoints) all() []*endpoint { return *s.list.Load() }

// inOrder returns all endpoints in the order in which a call tries them: the preferred one, and those after it in turn.
func (s *endpoints) inOrder() []*endpoint {
	list := s.all()
	first := max(0, slices.Index(list, s.preferred.Load()))
	return slices.Concat(list[first:], list[:first])
}

// at returns the endpoint of that address, or nil.
func (s *endpoints) at(u *url.URL) *endpoint {
	for _, e := range s.all() {
		if *e.URL == *u {
			return e
		}
	}
	return nil
}

// given returns those of the Config.
func (s *endpoints) given() (out []*endpoint) {
	for _, e := range s.all() {
		if e.given {
			out = append(out, e)
		}
	}
	return out
}

// prefer makes e the first to be tried.
func (s *endpoints) prefer(e *endpoint) { s.preferred.Store(e) }

// avoid makes the endpoint after e the first to be tried, if e was.
func (s *endpoints) avoid(e *endpoint) {
	list := s.all()
	s.preferred.CompareAndSwap(e, list[(slices.Index(list, e)+1)%len(list)])
}

// learned replaces the endpoints that were not given by those at the places.
func (s *endpoints) learned(places []place) {
	next := s.given()
	for _, p := range places {
		u := p.url
		same := func(e *endpoint) bool { return *e.URL == *u }
		switch {
		case slices.ContainsFunc(next, same):
		case s.at(u) != nil:
			next = append(next, s.at(u))
		default:
			next = append(next, &endpoint{URL: u})
		}
	}
	s.list.Store(&next)
	s.number(places)
}

// number notes which members are at the endpoints. An endpoint that is no place of a member keeps its number if a
// member has it: the node there may have said itself who it is, under an address that other nodes do not know.
func (s *endpoints) number(places []place) {
	for _, e := range s.all() {
		at := func(p place) bool { return *p.url == *e.URL }
		is := func(p place) bool { return p.node == e.member.Load() }
		if i := slices.IndexFunc(places, at); i >= 0 {
			e.member.Store(places[i].node)
		} else if !slices.ContainsFunc(places, is) {
			e.member.Store(0)
		}
	}
}
