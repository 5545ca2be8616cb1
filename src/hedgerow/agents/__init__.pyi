from .conversation import Conversation as Conversation
from .holders import TokenHolders as TokenHolders
from .sources import ReleaseSource as ReleaseSource, ServerSource as ServerSource, Source as Source
from .tools import agent_server as agent_server, data_only as data_only
