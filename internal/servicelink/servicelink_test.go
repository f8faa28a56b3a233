package servicelink

import (
	"strings"
	"testing"
)

func TestIs(t *testing.T) {
	for _, set := range []string{"SERVICE_HOST=10.96.0.7", "SERVICE_PORT=8500", "SERVICE_PORT_HTTP=8500",
		"PORT=tcp://10.96.0.7:8500", "PORT_8500_TCP=tcp://10.96.0.7:8500", "PORT_8500_TCP_PROTO=tcp",
		"PORT_8500_TCP_PORT=8500", "PORT_8500_UDP_ADDR=10.96.0.7", "PEERS_SERVICE_HOST=10.96.0.8",
		"PEERS_PORT=udp://10.96.0.8:8300"} {
		if name, value, _ := strings.Cut(set, "="); !Is(name, value) {
			t.Errorf("%s is not taken for one", set)
		}
	}
	for _, own := range []string{"PORT=8500", "PEER=tcp://h:8300", "XPORT=tcp://h:1", "PORTS=1", "PORT_X=1", "SERVICE=x",
		"ENDPOINTS=http://h:8500", ""} {
		if name, value, _ := strings.Cut(own, "="); Is(name, value) {
			t.Errorf("%s is taken for one", own)
		}
	}
}
