package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tenure/internal/freeport"
	"tenure/jepsen/cluster"
	"tenure/jepsen/scrape"
)

// prometheus is a real one that watches one cluster.
type prometheus struct {
	at  string // host:port
	cmd *exec.Cmd
}

// sample is a series in the answer to a query.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"` // time, number as text
}

// job is the name of the clusters' job.
const job = "tenure"

// startPrometheus begins to scrape by the configuration of a job, which lacks its name, every second.
func startPrometheus(ctx context.Context, dir, scrape string) (*prometheus, error) {
	rules, err := page(ctx, "tenure.rules.yml")
	if err != nil {
		return nil, err
	}
	port, err := freeport.Run(1)
	if err != nil {
		return nil, err
	}
	text := "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs:\n" +
		"  - job_name: " + job + "\n" + scrape
	log, err := os.Create(filepath.Join(dir, "prometheus.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(shorten(string(rules))), 0o600),
		os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(text), 0o600)); err != nil {
		return nil, err
	}
	p := &prometheus{at: freeport.Address(port)}
	p.cmd = exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+p.at)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(30 * time.Second); ; cluster.Pause(ctx, 100*time.Millisecond) {
		if _, err = p.query(ctx, "vector(1)"); err == nil {
			return p, nil
		}
		if ctx.Err() != nil || time.Now().After(end) {
			p.stop()
			return nil, fmt.Errorf("the Prometheus does not become ready: %w; see %s", err, log.Name())
		}
	}
}

func (p *prometheus) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

func (p *prometheus) query(ctx context.Context, expr string) ([]sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	where := "http://" + p.at + "/api/v1/query?query=" + url.QueryEscape(expr)
	text, err := scrape.Get(ctx, http.DefaultClient, where, "")
	if err != nil {
		return nil, err // with the reason, if the query is wrong
	}
	var answer struct {
		Data struct {
			Result []sample `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	return answer.Data.Result, nil
}

// notTried is an alert that most clusters here would have for good, since nobody makes a backup of them. The unit test
// of the rules tries it.
const notTried = "TenureBackupNone"

// firing returns the alerts that fire, sorted.
func (p *prometheus) firing(ctx context.Context) ([]string, error) {
	all, err := p.query(ctx, `ALERTS{alertstate="firing", alertname!="`+notTried+`"}`)
	var names []string
	for _, s := range all {
		names = append(names, s.Metric["alertname"])
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
