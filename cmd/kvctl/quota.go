package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"tenure/api"
	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/completion"
	"tenure/internal/shown"
)

func newQuota(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "quota",
		Short: "Bound what the keys under a prefix may take",
		Long: "Limit the bytes and the number of the keys under a prefix. A write that would exceed a limit\n" +
			"is refused, and the error names the prefix. Deletes, and writes that make nothing larger, are\n" +
			"never refused. A key counts for every quota whose prefix it starts with.",
	}, newQuotaSet(a), newQuotaList(a), newQuotaShow(a), newQuotaDelete(a))
}

func newQuotaSet(a *app) *cobra.Command {
	var w writeFlags
	bytes := sized{units: byteUnits, like: "such as 1048576, 512KiB or 100MiB"}
	keys := sized{units: countUnits, like: "such as 10000 or 10k"}
	cmd := &cobra.Command{
		Use:   "set PREFIX",
		Short: "Set the quota of a prefix",
		Long: "Set the quota of a prefix, and replace the one that it has. Without --bytes the bytes are\n" +
			"unlimited, without --keys the number of keys. The bytes are those of keys and values. Existing\n" +
			"keys are kept even if they exceed the limits.",
		Example:           "  kvctl quota set tenants/a/ --bytes 100MiB --keys 10000",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkQuotaPrefix(args[0]); err != nil {
				return err
			}
			if bytes.n == 0 && keys.n == 0 {
				return usage("a quota needs a limit: give --bytes or --keys, or both; kvctl quota delete ends one")
			}
			limits := client.QuotaLimits{Bytes: bytes.n, Keys: keys.n}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Quotas().Set(ctx, args[0], limits, client.WriteOptions{Once: w.once}); err != nil {
					return err
				}
				return a.printf(quotaSet{args[0], bytes.n, keys.n}, "quota of %s: %s, %s\n", shown.Line(args[0]),
					limitText(bytes.n, "bytes"), limitText(keys.n, "keys"))
			})
		},
	}
	cmd.Flags().Var(&bytes, "bytes", "most bytes of keys and values, such as 100MiB")
	cmd.Flags().Var(&keys, "keys", "most keys, such as 10000 or 10k")
	w.addOnceTo(cmd)
	return cmd
}

func newQuotaList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the quotas and what is used of them",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					list, meta, err := c.Quotas().List(ctx, client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printQuotas(list)
				})
		},
	}
}

func newQuotaShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show PREFIX",
		Short:             "Show the quota of a prefix and what is used of it",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeQuotas,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkQuotaPrefix(args[0]); err != nil {
				return err
			}
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					q, meta, err := c.Quotas().Get(ctx, args[0], client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printQuotas([]client.Quota{q})
				})
		},
	}
}

func newQuotaDelete(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:               "delete PREFIX",
		Short:             "End the quota of a prefix",
		Long:              "End the quota of a prefix. Its keys stay. Deleting an absent quota succeeds.",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeQuotas,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkQuotaPrefix(args[0]); err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Quotas().Delete(ctx, args[0], client.WriteOptions{Once: w.once}); err != nil {
					return err
				}
				return a.printf(quotaSet{Prefix: args[0]}, "there is no quota of %s now\n", shown.Line(args[0]))
			})
		},
	}
	w.addOnceTo(cmd)
	return cmd
}

// checkQuotaPrefix returns an error if a prefix cannot have a quota.
func checkQuotaPrefix(prefix string) error {
	switch {
	case prefix == "":
		return usage("the prefix is empty; what a node's disk may take in all is bounded by kvnode --quota-bytes")
	case len(prefix) > api.MaxQuotaPrefixBytes:
		return usage("the prefix has %d bytes; a quota takes one of at most %d", len(prefix), api.MaxQuotaPrefixBytes)
	}
	return nil
}

// quotaSet is the output about a quota that was set or ended, with --json.
type quotaSet struct {
	Prefix string `json:"prefix"`
	Bytes  uint64 `json:"bytes"` // 0: any number
	Keys   uint64 `json:"keys"`  // 0: any number
}

func limitText(limit uint64, what string) string {
	if limit == 0 {
		return "any number of " + what
	}
	return fmt.Sprintf("%d %s", limit, what)
}

func (p *printer) printQuotas(list []client.Quota) error {
	var rows [][]string
	counting := ""
	for _, q := range list {
		rows = append(rows, []string{shown.Line(q.Prefix), output.Bytes(int64(q.UsedBytes)), bytesLimit(q.Bytes),
			percentOf(q.UsedBytes, q.Bytes), strconv.FormatUint(q.UsedKeys, 10), keysLimit(q.Keys),
			percentOf(q.UsedKeys, q.Keys)})
		if q.Counting {
			counting = q.Prefix
		}
	}
	err := p.list(append([]client.Quota{}, list...), []string{"PREFIX", "USED", "BYTES", "%", "USED KEYS", "KEYS", "%"}, rows,
		"there are no quotas")
	if err == nil && counting != "" && !p.json {
		p.note("what is under %s is still being counted", shown.Word(counting))
	}
	return err
}

func bytesLimit(n uint64) string {
	if n == 0 {
		return "-"
	}
	return output.Bytes(int64(n))
}

func keysLimit(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

// percentOf returns how much of limit is used, in percent, or "-" without a limit.
func percentOf(used, limit uint64) string {
	if limit == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*float64(used)/float64(limit), 'f', 0, 64)
}

// completeQuotas completes the prefix of a quota as the first argument.
func (k *connection) completeQuotas(
	cmd *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		list, _, _ := c.Quotas().List(ctx, client.ReadOptions{Mode: client.Stale})
		for _, q := range list {
			out = append(out, completion.Candidate{Name: q.Prefix})
		}
		return out
	})
}
