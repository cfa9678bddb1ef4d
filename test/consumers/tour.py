"""The README's tour by a client that openapi-generator generated (python)."""

import json
import sys
from typing import get_args

import parley_api as api

base_url, admin_key = sys.argv[1:]


def client(name, value):
    return api.ApiClient(api.Configuration(host=base_url), header_name=name, header_value=value)


app = api.AppsApi(client("X-Admin-Key", admin_key)).apps_create(api.AppsCreateBody(name="Tour"))


def user(user_id):
    backend = api.TokensApi(client("X-API-Key", app.api_key))
    token = backend.tokens_create(api.TokensCreateBody(user_id=user_id)).token
    return client("Authorization", f"Bearer {token}")


ana, ben = user("ana"), user("ben")
channel = api.ChannelsApi(ana).channels_create(
    api.ChannelsCreateBody(type=api.ChannelType.GROUP, name="Kitchen talk", member_ids=["ben"])
)
hello = api.MessagesApi(ana).messages_send(
    channel.id, api.MessagesSendBody(text="Hello @ben, soup or salad?")
)
answer = api.MessagesApi(ben).messages_send(
    channel.id, api.MessagesSendBody(text="Soup, please", parent_id=hello.id)
)
for name, is_nullable in {"id": False, "channel_id": False, "parent_id": True}.items():
    annotation = api.Message.model_fields[name].annotation
    if (type(None) in get_args(annotation)) != is_nullable:
        raise TypeError(f"{name} of a message is {annotation}")

reacted = api.ReactionsApi(ana).reactions_add(
    channel.id, answer.id, api.ReactionsAddBody(emoji="🍲")
)
api.PinsApi(ana).pins_pin(channel.id, answer.id)
unread = api.ReadsApi(ben).reads_unread_count()
page = api.MessagesApi(ben).messages_list(channel.id, limit=20)
read = api.ReadsApi(ben).reads_mark(channel.id)
listed = api.ChannelsApi(ben).channels_list()
try:
    refused = api.ChannelsApi(ana).channels_get(answer.id).name
except api.exceptions.NotFoundException as error:
    refused = api.ApiError.from_json(error.body).error.code

print(
    json.dumps(
        {
            "isReply": answer.parent_id == hello.id,
            "reactions": [[each.type, each.count] for each in reacted.reactions],
            "unread": unread.count,
            "texts": [message.text for message in page.messages],
            "pinned": [message.pinned for message in page.messages],
            "lastReadSeq": read.last_read_seq,
            "left": [each.unread_count for each in listed.channels],
            "refused": refused,
        }
    )
)
