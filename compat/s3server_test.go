package compat

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tenure/internal/freeport"
)

const (
	s3Key    = "tenure-compat"
	s3Secret = "a-secret-of-the-tests"
	s3Bucket = "backups"
)

// gateway is a versitygw, a server that speaks S3, which keeps buckets as directories.
type gateway struct {
	t    *testing.T
	root string
	addr string
	cmd  *exec.Cmd
}

// buildGateway builds versitygw once.
var buildGateway = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-o", program("versitygw"),
		"github.com/versity/versitygw/cmd/versitygw").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build versitygw: %w\n%s", err, out)
	}
	return nil
})

// startGateway runs a versitygw with an empty bucket until the test ends.
func startGateway(t *testing.T, root string) *gateway {
	t.Helper()
	must(t, buildGateway())
	must(t, os.MkdirAll(filepath.Join(root, s3Bucket), 0o700))
	port, err := freeport.Run(1)
	must(t, err)
	g := &gateway{t: t, root: root, addr: freeport.Address(port)}
	g.start()
	t.Cleanup(g.kill)
	return g
}

func (g *gateway) start() {
	g.t.Helper()
	log, err := os.Create(g.root + ".log")
	must(g.t, err)
	g.cmd = exec.Command(program("versitygw"), "--access", s3Key, "--secret", s3Secret, "--port", g.addr,
		"--health", "/health", "--quiet", "posix", g.root)
	g.cmd.Stdout, g.cmd.Stderr = log, log
	must(g.t, g.cmd.Start())
	must(g.t, log.Close())
	eventually(g.t, func() bool {
		rsp, err := http.Get("http://" + g.addr + "/health")
		if err != nil {
			return false
		}
		rsp.Body.Close()
		return rsp.StatusCode == http.StatusOK
	})
}

// kill ends the server with SIGKILL.
func (g *gateway) kill() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
		g.cmd = nil
	}
}

// bucketURL names the bucket, below a prefix, by way of the address at.
func bucketURL(at, prefix string) string {
	return "s3://" + s3Bucket + prefix + "?insecure=true&endpoint=" + at
}

// dam forwards connections to another address until a number of bytes were sent that way, and then holds up further
// bytes until release.
type dam struct {
	listener net.Listener
	to       string
	full     chan struct{} // closed once the bytes are used up
	open     chan struct{} // closed by release

	mu   sync.Mutex
	left int64
}

func newDam(t *testing.T, to string, bytes int64) *dam {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	d := &dam{listener: listener, to: to, full: make(chan struct{}), open: make(chan struct{}), left: bytes}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go d.pass(c)
		}
	}()
	return d
}

func (d *dam) addr() string { return d.listener.Addr().String() }

func (d *dam) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(from, to)
		from.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(to, d), from)
}

// Write counts what was passed on.
func (d *dam) Write(p []byte) (int, error) {
	d.mu.Lock()
	was := d.left
	d.left -= int64(len(p))
	now := d.left
	d.mu.Unlock()
	if was > 0 && now <= 0 {
		close(d.full)
	}
	if now <= 0 {
		<-d.open
	}
	return len(p), nil
}
