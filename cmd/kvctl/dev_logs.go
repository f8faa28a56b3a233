//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tenure/internal/devcluster"
	"tenure/internal/shown"
)

// logPoll is how often a log that is followed is read.
const logPoll = 100 * time.Millisecond

func newDevLogs(d *dev) *cobra.Command {
	var follow bool
	lines := 20
	cmd := &cobra.Command{
		Use:   "logs [N...]",
		Short: "Print the logs of nodes",
		Long: "Print the last lines of the nodes' logs, or of all logs if no N is given. Each line follows the\n" +
			"node's number if there is more than one node. With --follow, print new lines until interrupted.",
		ValidArgsFunction: d.completeNodes,
		Example:           "  kvctl dev logs master --lines 100\n  kvctl dev logs --follow",
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return usage("--lines %d: must not be negative", lines)
			}
			if len(args) == 0 {
				args = []string{"all"}
			}
			_, nodes, err := d.choose(cmd.Context(), args)
			if err != nil {
				return err
			}
			out := &logWriter{w: d.app.stdout, several: len(nodes) > 1}
			var all sync.WaitGroup
			for _, n := range nodes {
				from, err := out.last(n, lines)
				if err != nil {
					return err
				}
				if follow {
					all.Go(func() { out.follow(cmd.Context(), n, from) })
				}
			}
			all.Wait()
			return nil
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until interrupted")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "how many of the last lines to print first")
	d.app.timeoutFlag(cmd, "time limit of finding the master (default 10s)")
	return cmd
}

// logWriter prints whole lines of logs.
type logWriter struct {
	mu      sync.Mutex
	w       io.Writer
	several bool
}

func (l *logWriter) print(n devcluster.Node, line string) error {
	line = string(shown.JSON([]byte(line))) // nodes name keys and owners in their logs
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.several {
		_, err = fmt.Fprintf(l.w, "%d  %s\n", n.ID, line)
	} else {
		_, err = fmt.Fprintln(l.w, line)
	}
	return err
}

// last prints the last lines of a node's log and returns where it ends.
func (l *logWriter) last(n devcluster.Node, lines int) (end int64, err error) {
	f, err := os.Open(n.Log)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it is only read
	var kept []string
	b := bufio.NewReader(f)
	for {
		line, err := b.ReadString('\n')
		if err != nil { // a line without an end is left for later
			break
		}
		end += int64(len(line))
		if kept = append(kept, line[:len(line)-1]); len(kept) > lines {
			kept = kept[1:]
		}
	}
	for _, line := range kept {
		if err := l.print(n, line); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// follow prints what is added to a node's log until ctx ends.
func (l *logWriter) follow(ctx context.Context, n devcluster.Node, from int64) {
	_ = poll(ctx, logPoll, func() (bool, error) { // its error is the end of ctx
		from = l.more(n, from)
		return false, nil
	})
}

// more prints the whole lines behind an offset and returns the offset behind them.
func (l *logWriter) more(n devcluster.Node, from int64) int64 {
	f, err := os.Open(n.Log)
	if err != nil {
		return from
	}
	defer func() { _ = f.Close() }() // it is only read
	if info, err := f.Stat(); err == nil && info.Size() < from {
		from = 0 // the log was started anew
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from
	}
	b := bufio.NewReader(f)
	for {
		line, err := b.ReadString('\n')
		if err != nil || l.print(n, line[:len(line)-1]) != nil {
			return from
		}
		from += int64(len(line))
	}
}
