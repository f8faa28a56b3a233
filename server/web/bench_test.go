package web

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// still answers at once, so that the benchmarks show this package alone.
type still struct {
	*fake
	entry kv.Entry
}

func (b *still) Write(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return kv.Result{Code: kv.CodeDone, Revision: 123456}, nil
}

func (b *still) Get(time.Duration, service.Mode, string) (kv.Entry, bool, service.ReadMeta, error) {
	return b.entry, true, service.ReadMeta{Revision: 123456, KnownLeader: true}, nil
}

// sink is a ResponseWriter that costs next to nothing.
type sink struct {
	h    http.Header
	code int
}

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) WriteHeader(c int)           { s.code = c }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

type rewound struct{ *bytes.Reader }

func (rewound) Close() error { return nil }

func bench(b *testing.B, method, target string, body []byte) {
	s, err := New(testConfig(), service.FrontOf(&still{newFake(b), kv.Entry{Key: "bench/key-000123", Value: make([]byte, 256), CreateIndex: 5, ModifyIndex: 123456}}))
	if err != nil {
		b.Fatal(err)
	}
	rd := bytes.NewReader(body)
	r, err := http.NewRequest(method, "http://127.0.0.1:8500"+target, rewound{rd})
	if err != nil {
		b.Fatal(err)
	}
	r.ContentLength = int64(len(body))
	w := &sink{h: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		rd.Reset(body)
		clear(w.h)
		s.ServeHTTP(w, r)
	}
	if w.code != 0 && w.code != 200 {
		b.Fatal(w.code)
	}
}

func BenchmarkGet(b *testing.B)    { bench(b, "GET", "/v1/kv/bench/key-000123", nil) }
func BenchmarkGetRaw(b *testing.B) { bench(b, "GET", "/v1/kv/bench/key-000123?raw", nil) }
func BenchmarkPut(b *testing.B)    { bench(b, "PUT", "/v1/kv/bench/key-000123", make([]byte, 256)) }
func BenchmarkCas(b *testing.B)    { bench(b, "PUT", "/v1/kv/bench/key-000123?cas=12", make([]byte, 256)) }
