package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// listenAdmin serves the profiler on an address of its own, which is off by default: it shows what is in memory.
// The returned function ends it.
func listenAdmin(addr string) (func(), error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: --admin %s: %w; choose a free port", ErrConfig, addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with Close; its error only says so
	return func() { _ = s.Close() }, nil
}
