package scrape

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tenure/api"
)

func TestGet(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get(api.HeaderToken))
	}))
	defer s.Close()
	if page, err := Get(t.Context(), s.Client(), s.URL+"/there", "secret"); err != nil || string(page) != "secret" {
		t.Errorf("%q, %v", page, err)
	}
	_, err := Get(t.Context(), s.Client(), s.URL+"/elsewhere", "")
	if err == nil || !strings.Contains(err.Error(), "status 404: no such page") {
		t.Errorf("%v", err)
	}
}

func TestNumbers(t *testing.T) {
	const page = "# HELP lag x\nlag 1.5\nlag_max 3\nVmRSS:\t   12345 kB\nlag 2\n"
	for _, x := range []struct {
		prefix string
		want   []float64
	}{{"lag ", []float64{1.5, 2}}, {"VmRSS:", []float64{12345}}, {"VmSwap:", nil}, {"# HELP", nil}} {
		got, err := Numbers([]byte(page), x.prefix)
		if !slices.Equal(got, x.want) || (err == nil) != (x.want != nil) {
			t.Errorf("%q: %v, %v", x.prefix, got, err)
		}
	}
}
