package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// dashboard returns how many queries the dashboard has, and an error that lists those without data.
func (p *prometheus) dashboard(ctx context.Context) (int, error) {
	text, err := page(ctx, "dashboard.json")
	if err != nil {
		return 0, err
	}
	var d struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return 0, err
	}
	variables := strings.NewReplacer("$__rate_interval", "30s", "$job", job, "$instance", ".*")
	all, empty := 0, []string(nil)
	for _, panel := range d.Panels {
		for _, t := range panel.Targets {
			all++
			data, err := p.query(ctx, variables.Replace(t.Expr))
			if err != nil {
				return all, err
			}
			if len(data) == 0 {
				empty = append(empty, t.Expr)
			}
		}
	}
	if len(empty) > 0 {
		return all, fmt.Errorf("the dashboard has no data for\n\t%s", strings.Join(empty, "\n\t"))
	}
	return all, nil
}
