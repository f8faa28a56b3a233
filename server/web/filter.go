package web

import (
	"errors"
	"net/http"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// filter leaves out of a listing what a request may not read.
type filter struct {
	req    *service.Request
	on     bool // something below the prefix may not be read, if it is there
	hidden bool // something was left out
}

// filterOf returns the filter of a listing of the keys that begin with prefix.
func filterOf(r *service.Request, prefix string) filter {
	return filter{req: r, on: !r.MayKeys(prefix)}
}

// keep reports whether key may be read.
func (f *filter) keep(key string) bool {
	readable := f.req.MayKey(key)
	f.hidden = f.hidden || !readable
	return readable
}

var errHidden = errors.New("a key may not be read")

// hides reports whether a key that begins with prefix is left out. If none was so far, it goes ahead and looks.
func (f *filter) hides(view *kv.Snapshot, prefix string, cancel func() error) (bool, error) {
	if f.hidden {
		return true, nil
	}
	stop := func() error {
		if f.hidden {
			return errHidden
		}
		return cancel()
	}
	_, err := view.Count(kv.Range{Prefix: prefix, Keep: f.keep, Cancel: stop})
	if errors.Is(err, errHidden) {
		err = nil
	}
	return f.hidden, err
}

// tell says in the headers that something was left out, if it was.
func (f *filter) tell(h http.Header) {
	if f.hidden {
		h[api.HeaderFiltered] = headerTrue
	}
}
