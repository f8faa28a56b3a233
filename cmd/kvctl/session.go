package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/shown"
)

func newSession(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "session", Short: "Create, show, renew and destroy sessions"},
		newSessionCreate(a), newSessionList(a), newSessionInfo(a), newSessionRenew(a), newSessionDestroy(a))
}

func newSessionCreate(a *app) *cobra.Command {
	var o client.SessionOptions
	var w writeFlags
	behavior := string(client.ReleaseKeys)
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a session and print its ID",
		Long: "Create a session and print its ID, for kvctl set --acquire ID, which locks a key. A session ends\n" +
			"when it is destroyed or was not renewed within --ttl. Then its keys are unlocked, or deleted with\n" +
			"--behavior delete, and nobody can lock them for --lock-delay. To run a command under a lock, use\n" +
			"kvctl lock.",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Behavior, o.Once = client.Behavior(behavior), w.once
			if o.LockDelay < 0 {
				return usage("--lock-delay must not be negative")
			}
			if o.LockDelay == 0 {
				o.LockDelay = client.NoLockDelay
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				id, err := c.Sessions().Create(ctx, o)
				if err != nil {
					return err
				}
				return a.printf(sessionID{id}, "%s\n", id)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the session")
	f.StringVar(&o.Node, "node", "", "name of the node that the session belongs to (default: the node that creates it)")
	ttlVar(f, &o.TTL, 0, "how long the session lives unless it is renewed (default: until it is destroyed)")
	durationVar(f, &o.LockDelay, "lock-delay", defaultLockDelay,
		"how long nobody can lock a key that the session had not unlocked")
	f.StringVar(&behavior, "behavior", behavior, "what happens to its keys when it ends: release or delete")
	w.addOnceTo(cmd)
	return cmd
}

func newSessionList(a *app) *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sessions, the time they have left and the keys they have locked",
		Long: "List all sessions. LEFT is about how long a session lives unless it is renewed: up to twice its TTL,\n" +
			"as in Consul. KEYS is how many keys it has locked, and the first of them; --json prints up to 100.",
		Example: "  kvctl session list\n  kvctl session list --node node-1 --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if node == "" && cmd.Flags().Changed("node") {
				return usage("--node: the name is empty")
			}
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					list, meta, err := c.Sessions().ListDetails(ctx, node, client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printSessions(list)
				})
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "list only the sessions of this node")
	return cmd
}

func newSessionInfo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "info ID",
		Short:             "Show a session",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					s, meta, err := c.Sessions().Details(ctx, args[0], client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printSessions([]client.SessionDetails{s})
				})
		},
	}
}

func newSessionRenew(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "renew ID",
		Short:             "Restart the TTL of a session",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s, err := c.Sessions().Renew(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printSession(s)
			})
		},
	}
}

func newSessionDestroy(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:               "destroy ID",
		Short:             "Destroy a session and end its locks",
		Long:              "Destroy a session and end its locks. Destroying an absent session succeeds.",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Sessions().Destroy(ctx, args[0], client.WriteOptions{Once: w.once}); err != nil {
					return err
				}
				return a.printf(sessionID{args[0]}, "session %s destroyed\n", args[0])
			})
		},
	}
	w.addOnceTo(cmd)
	return cmd
}

// sessionID is a session that was created or destroyed, with --json.
type sessionID struct {
	ID string `json:"id"`
}

// sessionJSON is a session as --json prints it.
type sessionJSON struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Node        string `json:"node"`
	TTL         int64  `json:"ttl_ms"` // 0: none
	LockDelay   int64  `json:"lock_delay_ms"`
	Behavior    string `json:"behavior"`
	CreateIndex uint64 `json:"create_index"`
	ModifyIndex uint64 `json:"modify_index"`
	*sessionDetailsJSON
}

// sessionDetailsJSON is what the details of a session add.
type sessionDetailsJSON struct {
	Left int64    `json:"left_ms,omitempty"`
	Held int      `json:"held"`
	Keys []string `json:"keys"`
}

func sessionOut(s client.Session) sessionJSON {
	return sessionJSON{
		ID: s.ID, Name: s.Name, Node: s.Node, TTL: s.TTL.Milliseconds(), LockDelay: s.LockDelay.Milliseconds(),
		Behavior: string(s.Behavior), CreateIndex: s.CreateIndex, ModifyIndex: s.ModifyIndex,
	}
}

// sessionCells are the columns ID, NAME, NODE and TTL of a session's row.
func sessionCells(s client.Session) []string {
	return []string{s.ID, orDash(shown.Line(s.Name)), orDash(shown.Line(s.Node)), durationOrDash(s.TTL)}
}

// printSession prints a session without details.
func (p *printer) printSession(s client.Session) error {
	return p.print([]sessionJSON{sessionOut(s)}, func(w io.Writer) error {
		row := append(sessionCells(s), durationOrDash(s.LockDelay), string(s.Behavior), fmt.Sprint(s.CreateIndex))
		return table(w, []string{"ID", "NAME", "NODE", "TTL", "LOCK-DELAY", "BEHAVIOR", "CREATED"}, [][]string{row})
	})
}

func (p *printer) printSessions(list []client.SessionDetails) error {
	out := []sessionJSON{}
	var rows [][]string
	for _, s := range list {
		o := sessionOut(s.Session)
		o.sessionDetailsJSON = &sessionDetailsJSON{
			Left: s.ExpiresIn.Milliseconds(), Held: s.Held, Keys: append([]string{}, s.Keys...),
		}
		out = append(out, o)
		left := "-"
		if s.ExpiresIn > 0 {
			left = output.Duration(s.ExpiresIn)
		}
		rows = append(rows, append(sessionCells(s.Session),
			left, durationOrDash(s.LockDelay), string(s.Behavior), heldText(s)))
	}
	return p.list(out, []string{"ID", "NAME", "NODE", "TTL", "LEFT", "LOCK-DELAY", "BEHAVIOR", "KEYS"}, rows,
		"no session was found")
}

// shownKeys is how many of a session's keys a table shows.
const shownKeys = 3

// heldText returns how many keys a session has locked, and the first of them.
func heldText(s client.SessionDetails) string {
	if s.Held == 0 {
		return "-"
	}
	var keys []string
	for _, k := range s.Keys[:min(len(s.Keys), shownKeys)] {
		keys = append(keys, shown.Line(k))
	}
	if s.Held > len(keys) {
		keys = append(keys, "…")
	}
	return fmt.Sprintf("%d: %s", s.Held, strings.Join(keys, " "))
}
