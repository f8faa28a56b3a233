package client_test

import (
	"testing"

	"tenure/client"
	"tenure/client/clienttest"
)

func TestHistoryAndReports(t *testing.T) {
	t.Parallel()
	cluster := clienttest.Start(1)
	t.Cleanup(cluster.Close)
	c, err := client.New(client.Config{Endpoints: cluster.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	h, err := c.Nodes().History(t.Context())
	if err != nil || h.Node != 1 || len(h.Samples) != 1 || h.Samples[0].RequestsPerS != 10 {
		t.Fatalf("%+v, %v", h, err)
	}
	reports, err := c.Nodes().Reports(t.Context())
	if err != nil || len(reports) != 1 || reports[0].Version != "test" {
		t.Fatalf("%+v, %v", reports, err)
	}
}
