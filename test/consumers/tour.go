// The README's tour by a client that openapi-generator generated (go).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	api "parley/api"
)

var ctx = context.Background()

func client(header, value string) *api.APIClient {
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: os.Args[1]}}
	configuration.AddDefaultHeader(header, value)
	return api.NewAPIClient(configuration)
}

func must[T any](result T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func main() {
	operator := client("X-Admin-Key", os.Args[2])
	app := must(operator.AppsAPI.AppsCreate(ctx).
		AppsCreateBody(*api.NewAppsCreateBody("Tour")).Execute())
	user := func(id string) *api.APIClient {
		minted := must(client("X-API-Key", app.ApiKey).TokensAPI.TokensCreate(ctx).
			TokensCreateBody(*api.NewTokensCreateBody(id)).Execute())
		return client("Authorization", "Bearer "+minted.Token)
	}
	ana, ben := user("ana"), user("ben")
	body := api.NewChannelsCreateBody(api.CHANNELTYPE_GROUP)
	body.SetName("Kitchen talk")
	body.SetMemberIds([]string{"ben"})
	channel := must(ana.ChannelsAPI.ChannelsCreate(ctx).ChannelsCreateBody(*body).Execute())
	hello := must(ana.MessagesAPI.MessagesSend(ctx, channel.Id).
		MessagesSendBody(*api.NewMessagesSendBody("Hello @ben, soup or salad?")).Execute())
	var id string = hello.Id
	reply := api.NewMessagesSendBody("Soup, please")
	reply.SetParentId(id)
	answer := must(ben.MessagesAPI.MessagesSend(ctx, channel.Id).MessagesSendBody(*reply).Execute())
	reacted := must(ana.ReactionsAPI.ReactionsAdd(ctx, channel.Id, answer.Id).
		ReactionsAddBody(*api.NewReactionsAddBody("🍲")).Execute())
	must(ana.PinsAPI.PinsPin(ctx, channel.Id, answer.Id).Execute())
	unread := must(ben.ReadsAPI.ReadsUnreadCount(ctx).Execute())
	page := must(ben.MessagesAPI.MessagesList(ctx, channel.Id).Limit(20).Execute())
	read := must(ben.ReadsAPI.ReadsMark(ctx, channel.Id).
		ReadsMarkBody(*api.NewReadsMarkBody()).Execute())
	listed := must(ben.ChannelsAPI.ChannelsList(ctx).Execute())
	_, _, err := ana.ChannelsAPI.ChannelsGet(ctx, answer.Id).Execute()
	refused := err.(*api.GenericOpenAPIError).Model().(api.ApiError)

	reactions := [][]any{}
	for _, each := range reacted.Reactions {
		reactions = append(reactions, []any{each.Type, each.Count})
	}
	texts, pinned, left := []string{}, []bool{}, []int64{}
	for _, message := range page.Messages {
		texts, pinned = append(texts, message.Text), append(pinned, message.Pinned)
	}
	for _, each := range listed.Channels {
		left = append(left, each.UnreadCount)
	}
	text, _ := json.Marshal(map[string]any{
		"isReply": answer.GetParentId() == id, "reactions": reactions, "unread": unread.Count,
		"texts": texts, "pinned": pinned, "lastReadSeq": read.LastReadSeq, "left": left,
		"refused": refused.Error.Code,
	})
	fmt.Println(string(text))
}
