package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tenure/client"
	"tenure/internal/shown"
)

// printToken prints t as Consul's command line does, so that scripts find SecretID and AccessorID.
func (p *printer) printToken(t client.Token, err error) error {
	switch {
	case errors.Is(err, client.ErrUnknown) && t.AccessorID != "" && t.SecretID != "":
		return fmt.Errorf("%w; if the token was made, its accessor is %s: unless you gave its --secret, run kvctl acl token "+
			"delete %[2]s, and make another one", err, t.AccessorID)
	case err != nil:
		return err
	}
	return p.print(t, func(w io.Writer) error { return writeToken(w, t) })
}

func writeToken(w io.Writer, t client.Token) error {
	fmt.Fprintf(w, "AccessorID:       %s\nSecretID:         %s\n", t.AccessorID, t.SecretID)
	if t.Name != "" {
		fmt.Fprintf(w, "Name:             %s\n", shown.Line(t.Name))
	}
	fmt.Fprintf(w, "Description:      %s\nCreate Time:      %s\n", shown.Line(t.Description),
		timeText(&t.CreateTime))
	if t.Certificate != "" {
		fmt.Fprintf(w, "Certificate:      %s\n", shown.Line(t.Certificate))
	}
	if t.ExpirationTime != nil {
		fmt.Fprintf(w, "Expiration Time:  %s\n", timeText(t.ExpirationTime))
	}
	if t.LastUsed != nil {
		fmt.Fprintf(w, "Last Used:        %s, on the node that answered\n", timeText(t.LastUsed))
	}
	var err error
	if len(t.Policies) > 0 {
		_, err = fmt.Fprintln(w, "Policies:")
	}
	for _, l := range t.Policies {
		_, err = fmt.Fprintf(w, "   %s - %s\n", l.ID, shown.Line(l.Name))
	}
	return err
}

func (p *printer) printExpanded(t client.TokenExpanded) error {
	return p.print(t, func(w io.Writer) error {
		err := writeToken(w, t.Token)
		for _, x := range t.ExpandedPolicies {
			_, err = fmt.Fprintf(w, "Rules of %s:\n%s\n", shown.Line(x.Name), strings.TrimRight(x.Rules, "\n"))
		}
		return err
	})
}

func (p *printer) printTokens(list []client.TokenListEntry) error {
	var rows [][]string
	for _, t := range list {
		var policies []string
		for _, l := range t.Policies {
			policies = append(policies, l.Name)
		}
		expires := "-"
		if t.ExpirationTime != nil {
			expires = timeText(t.ExpirationTime)
		}
		rows = append(rows, []string{t.AccessorID, orDash(shown.Line(strings.Join(policies, ","))), expires,
			shown.Line(t.Description)})
	}
	return p.print(list, func(w io.Writer) error {
		return table(w, []string{"ACCESSOR", "POLICIES", "EXPIRES", "DESCRIPTION"}, rows)
	})
}

func timeText(t *time.Time) string { return t.Local().Format(time.RFC3339) }
