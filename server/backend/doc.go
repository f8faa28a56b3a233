// Package backend is the node as its HTTP API sees it: it implements web.Backend. Each type here carries out the
// requests about one resource: what the runners answer becomes what a client is told. Status, readiness and metrics are
// read from what the runners publish, and wait for nobody.
package backend
