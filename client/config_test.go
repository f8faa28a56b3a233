package client_test

import (
	"testing"
	"time"

	"tenure/client"
)

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  client.Config
		want string // the first endpoint; "" is refused
	}{
		{client.Config{}, ""},
		{client.Config{Endpoints: []string{"127.0.0.1:8500"}}, "http://127.0.0.1:8500"},
		{client.Config{Endpoints: []string{"localhost:8500"}}, "http://localhost:8500"},
		{client.Config{Endpoints: []string{"http://n1:8500/"}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{"[::1]:8500"}}, "http://[::1]:8500"},
		{client.Config{Endpoints: []string{"n1"}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{"http://n1"}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{" n1:7 ", " http://n2 "}}, "http://n1:7"},
		{client.Config{Endpoints: []string{"[::1]"}}, "http://[::1]:8500"},
		{client.Config{Endpoints: []string{"::1"}}, "http://[::1]:8500"},
		{client.Config{Endpoints: []string{"10.0.0.1"}}, "http://10.0.0.1:8500"},
		{client.Config{Endpoints: []string{"https://n1"}}, "https://n1:8500"},
		{client.Config{Endpoints: []string{"n1:8500", "https://n1:8500"}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{"n1"}, TLS: &client.TLS{}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{"n1"}, TLS: &client.TLS{Default: true}}, "https://n1:8500"},
		{client.Config{Endpoints: []string{"http://n1"}, TLS: &client.TLS{Default: true}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{"n1"}, TLS: &client.TLS{ServerName: "n"}}, "https://n1:8500"},
		{client.Config{Endpoints: []string{"n1"}, TLS: &client.TLS{}}, "http://n1:8500"},
		{client.Config{Endpoints: []string{"n1:x"}}, ""},
		{client.Config{Endpoints: []string{"127.0.0.1:99999"}}, ""},
		{client.Config{Endpoints: []string{"n1:0"}}, ""},
		{client.Config{Endpoints: []string{"21500"}}, ""},
		{client.Config{Endpoints: []string{"n1:65535"}}, "http://n1:65535"},
		{client.Config{Endpoints: []string{"n1 n2"}}, ""},
		{client.Config{Endpoints: []string{"n1:8500", ""}}, ""},
		{client.Config{Endpoints: []string{"ftp://n1"}}, ""},
		{client.Config{Endpoints: []string{"http://n1/v1"}}, ""},
		{client.Config{Endpoints: []string{"http://u:p@n1"}}, ""},
		{client.Config{Endpoints: []string{":8500"}}, ""},
		{client.Config{Endpoints: []string{"n1"}, Timeout: -time.Second}, ""},
	} {
		x, err := client.New(c.cfg)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%+v: accepted", c.cfg)
		case c.want != "" && err != nil:
			t.Errorf("%+v: %v", c.cfg, err)
		case err == nil && x.Endpoints()[0] != c.want:
			t.Errorf("%+v: %v, want %s", c.cfg, x.Endpoints(), c.want)
		}
	}
}
