package target

import (
	"fmt"
	"net/http"
	"sync"
)

// failures is a transport that keeps the first failure since the last answer. minio-go repeats failed requests until the
// caller's time ends, and then returns only that the time has ended. It is safe for concurrent use.
type failures struct {
	*http.Transport
	mu    sync.Mutex
	first error
}

// RoundTrip implements http.RoundTripper. The end of the caller's time is no failure of the server.
func (f *failures) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.Transport.RoundTrip(r)
	switch {
	case err == nil && resp.StatusCode >= http.StatusInternalServerError:
		f.note(fmt.Errorf("the server answers %s", resp.Status))
	case err == nil:
		f.clear()
	case r.Context().Err() == nil:
		f.note(err)
	}
	return resp, err
}

func (f *failures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = err
	}
}

func (f *failures) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = nil
}

// err returns the first failure, or nil if the last request was answered.
func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}
