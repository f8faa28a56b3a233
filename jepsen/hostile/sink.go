package hostile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// ServeSink is the idle program that floods are compared with: it takes every connection, answers every request with
// nothing, and does no work. It writes its two addresses to out, for clients and for peers, and serves until in ends.
func ServeSink(in io.Reader, out io.Writer) error {
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	peers, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, clients.Close())
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(clients) }() // ends with Close
	go func() {
		for {
			c, err := peers.Accept()
			if err != nil {
				return // it was closed
			}
			go func() {
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	fmt.Fprintln(out, clients.Addr(), peers.Addr())
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, s.Close(), peers.Close())
}

// sink is the idle program as a process of its own.
type sink struct {
	clients, peers string // addresses
	pid            int
	end            func()
}

// port returns the address to which a flood goes.
func (s *sink) port(f *Flood) string {
	if f.peers {
		return s.peers
	}
	return s.clients
}

// startSink starts command, which calls ServeSink.
func startSink(ctx context.Context, command []string) (*sink, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the idle program: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s := &sink{pid: cmd.Process.Pid, end: func() { _ = in.Close(); _ = cmd.Wait() }}
	var ok bool
	if s.clients, s.peers, ok = strings.Cut(strings.TrimSpace(line), " "); err != nil || !ok {
		s.end()
		return nil, fmt.Errorf("the idle program said %q: %w", line, err)
	}
	return s, nil
}
