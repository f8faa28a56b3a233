package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tenure/internal/buildinfo"
	"tenure/jepsen/chart"
	"tenure/jepsen/cluster"
)

const (
	startTimeout   = time.Minute
	stopGrace      = 20 * time.Second
	requestTimeout = 30 * time.Second
)

// Config says what to measure, and how.
type Config struct {
	Series   []Series
	Repeat   int           // measurements of each point
	Duration time.Duration // of each
	Warmup   time.Duration // before each
	Results  string        // directory of the results and charts, made if missing
	Dir      string        // an existing directory for programs, data and logs; on a disk, or syncs cost nothing
	Kvnode   string        // the program to measure; "" builds this module's
	Out      io.Writer
}

// Validate returns an error that says what is out of range.
func (c Config) Validate() error {
	switch {
	case len(c.Series) == 0:
		return errors.New("no series: name some, or all")
	case c.Repeat < 1 || c.Repeat > 100:
		return fmt.Errorf("--repeat %d: must be 1 to 100", c.Repeat)
	case c.Duration < 10*time.Millisecond || c.Duration > 24*time.Hour:
		return fmt.Errorf("--duration %v: must be 10ms to 24h", c.Duration)
	case c.Warmup < 0 || c.Warmup > time.Hour:
		return fmt.Errorf("--warmup %v: must be 0 to 1h", c.Warmup)
	}
	if c.Kvnode != "" {
		if _, err := exec.LookPath(c.Kvnode); err != nil {
			return fmt.Errorf("--kvnode %s: %w", c.Kvnode, err)
		}
	}
	return nil
}

// Run measures the series one after the other. What was measured is on disk after each measurement.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Results, 0o755); err != nil {
		return err
	}
	kvctl, err := cluster.BuildKvctl(ctx, c.Dir)
	if err != nil {
		return err
	}
	programs := cluster.Binaries{Kvnode: c.Kvnode}
	if c.Kvnode == "" {
		if programs, err = cluster.Build(ctx, c.Dir); err != nil {
			return err
		}
	}
	for _, s := range c.Series {
		if err := c.series(ctx, s, programs, kvctl); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) series(ctx context.Context, s Series, programs cluster.Binaries, kvctl string) error {
	name := filepath.Join(c.Results, s.Name+".json")
	f := File{
		Series: s.Name, Command: c.command(s), Started: time.Now().UTC().Truncate(time.Second),
		Version: buildinfo.Read().Version,
		System:  fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
	plan := Plan{
		Series: s, Repeat: c.Repeat,
		Start: func(ctx context.Context, nodes int) (Cluster, error) { return c.start(ctx, nodes, programs, kvctl) },
		Each: func(text []byte) error {
			var r Result
			if err := json.Unmarshal(text, &r); err != nil {
				return fmt.Errorf("kvctl bench printed %.100q: %w", text, err)
			}
			fmt.Fprintf(c.Out, "%s: %s, %d nodes, %d clients, %s keys, %s: %.0f/s, p50 %.2f ms, p99 %.2f ms, %d "+
				"errors\n", s.Name, r.Op,
				r.Nodes, r.Clients, chart.Number(float64(r.Keys)), chart.Bytes(float64(r.ValueSize)), r.OpsPerS, r.P50,
				r.P99, r.Errors)
			f.Results = append(f.Results, text)
			return f.Write(name)
		},
	}
	if err := plan.Run(ctx); err != nil {
		return err
	}
	charts, err := Draw(name)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Out, strings.Join(append([]string{name}, charts...), "\n"))
	return nil
}

// command is what makes the same measurements again.
func (c Config) command(s Series) string {
	points := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Points), " ", ","), "[]")
	return fmt.Sprintf("go run ./jepsen sweep %s --repeat %d --duration %v --warmup %v --points %s", s.Name, c.Repeat,
		c.Duration, c.Warmup, points)
}

// start starts a fresh cluster. Its data is removed when it stops.
func (c Config) start(ctx context.Context, nodes int, programs cluster.Binaries, kvctl string) (Cluster, error) {
	dir := filepath.Join(c.Dir, "cluster")
	x, err := cluster.New(cluster.Config{Binaries: programs, Dir: dir, Nodes: nodes})
	if err != nil {
		return Cluster{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := x.Start(ctx); err != nil { // its data and logs stay, to be looked at
		x.Stop(stopGrace)
		return Cluster{}, err
	}
	return Cluster{
		Measure: func(ctx context.Context, l Load) ([]byte, error) { return c.measure(ctx, kvctl, x.Endpoints(), l) },
		Stop: func() error {
			x.Stop(stopGrace)
			return os.RemoveAll(dir)
		},
	}, nil
}

// measure runs kvctl bench, and returns what it printed.
func (c Config) measure(ctx context.Context, kvctl string, endpoints []string, l Load) ([]byte, error) {
	cmd := exec.CommandContext(ctx, kvctl, "--endpoints", strings.Join(endpoints, ","), "--json", "bench", l.Op,
		"--clients", strconv.Itoa(l.Clients), "--keys", strconv.Itoa(l.Keys), "--value-size", strconv.Itoa(l.ValueSize),
		"--fill="+strconv.FormatBool(l.Fill), "--duration", c.Duration.String(), "--warmup", c.Warmup.String(),
		"--timeout", requestTimeout.String())
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kvctl bench: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
