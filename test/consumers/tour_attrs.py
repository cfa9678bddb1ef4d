"""The README's tour by a client that openapi-python-client generated."""

import json
import sys
from importlib import import_module
from uuid import UUID

from parley_client import AuthenticatedClient, models

base_url, admin_key = sys.argv[1:]


def client(header, value, prefix=""):
    return AuthenticatedClient(
        base_url=base_url, token=value, auth_header_name=header, prefix=prefix
    )


def call(caller, operation, *args, **given):
    noun = operation.split("_")[0]
    result = import_module(f"parley_client.api.{noun}.{operation}").sync(
        *args, client=caller, **given
    )
    if result is None:
        raise RuntimeError(operation)
    return result


app = call(client("X-Admin-Key", admin_key), "apps_create", body=models.AppsCreateBody(name="Tour"))


def user(user_id):
    minted = call(
        client("X-API-Key", app.api_key),
        "tokens_create",
        body=models.TokensCreateBody(user_id=user_id),
    )
    return client("Authorization", minted.token, prefix="Bearer")


ana, ben = user("ana"), user("ben")
channel = call(
    ana,
    "channels_create",
    body=models.ChannelsCreateBody(
        type_=models.ChannelType.GROUP, name="Kitchen talk", member_ids=["ben"]
    ),
)
hello = call(
    ana,
    "messages_send",
    channel.id,
    body=models.MessagesSendBody(text="Hello @ben, soup or salad?"),
)
answer = call(
    ben,
    "messages_send",
    channel.id,
    body=models.MessagesSendBody(text="Soup, please", parent_id=hello.id),
)
kind = models.Message.__annotations__["id"]
if kind not in (UUID, "UUID"):
    raise TypeError(f"the id of a message is {kind}")

reacted = call(
    ana, "reactions_add", channel.id, answer.id, body=models.ReactionsAddBody(emoji="🍲")
)
call(ana, "pins_pin", channel.id, answer.id)
unread = call(ben, "reads_unread_count")
page = call(ben, "messages_list", channel.id, limit=20)
read = call(ben, "reads_mark", channel.id, body=models.ReadsMarkBody())
listed = call(ben, "channels_list")
refused = call(ana, "channels_get", answer.id)

print(
    json.dumps(
        {
            "isReply": answer.parent_id == hello.id,
            "reactions": [[each.type_, each.count] for each in reacted.reactions],
            "unread": unread.count,
            "texts": [message.text for message in page.messages],
            "pinned": [message.pinned for message in page.messages],
            "lastReadSeq": read.last_read_seq,
            "left": [each.unread_count for each in listed.channels],
            "refused": refused.error.code.value,
        }
    )
)
